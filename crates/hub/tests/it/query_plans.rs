//! J16: every query of the API on a large table uses an index. Checked with the query plans of PostgreSQL and SQLite.

use std::sync::{Arc, Mutex};

use postrider_hub::job::{DispatchStatus, Filter, MetadataFilter};
use postrider_hub::page::PageQuery;
use postrider_hub::{Hub, Moment, Settings};
use postrider_seams::row::Value;
use postrider_sql::Dialect;
use postrider_sql::driver::execute::{Answers, Arg, Execute, Statement};

use crate::fixture::{self, Fixture, root};

/// A database that records the statements executed on it.
struct RecordingDatabase {
    inner: Arc<dyn Execute>,
    statements: Mutex<Vec<Statement>>,
}

impl Execute for RecordingDatabase {
    fn dialect(&self) -> Dialect {
        self.inner.dialect()
    }

    fn transact<'a>(&'a self, doing: &'a str, statements: &'a [Statement]) -> Answers<'a> {
        self.statements.lock().unwrap().extend_from_slice(statements);
        self.inner.transact(doing, statements)
    }

    fn wake(&self, table: &str) {
        self.inner.wake(table);
    }
}

impl RecordingDatabase {
    /// Returns the query plan of the last statement on a table.
    async fn plan(&self, table: &str) -> String {
        let from = format!("FROM {table} AS t");
        let asked = self.statements.lock().unwrap().iter().rfind(|one| one.sql.contains(&from)).cloned();
        let Statement { sql, args } = asked.expect("a question of the table");
        explain(&*self.inner, &sql, args).await
    }
}

/// Returns the query plan of a statement, one line per step: the last column of each row.
async fn explain(database: &dyn Execute, sql: &str, args: Vec<Arg>) -> String {
    let words = if database.dialect() == Dialect::Sqlite { "EXPLAIN QUERY PLAN" } else { "EXPLAIN" };
    let statement = Statement { sql: format!("{words} {sql}"), args };
    let answer = database.transact("explain", &[statement]).await.expect("a plan").remove(0);
    let lines = answer.rows.iter().filter_map(|row| row.last().and_then(Value::as_text));
    lines.collect::<Vec<_>>().join("\n")
}

/// Inserts 30,000 jobs of 100 clients; one in a hundred is of the kind that the tests search for.
const JOBS: &str = "
    INSERT INTO dispatch_jobs (id, kind, code, target_url, protocol, payload_content_type, data_only, client_id, event_id,
        subscription_id, mode, sequence, timeout_seconds, status, max_retries, attempt_count, created_at)
    SELECT lpad(n::text, 13, '0'), 'TASK', 'code-' || n % 300, 'https://example.com/', 'HTTP_WEBHOOK', 'application/json', true,
        'client-' || n % 100, 'event-' || n % 3000, 's-' || n % 1000, 'IMMEDIATE', 99, 30,
        CASE n % 100 WHEN 0 THEN 'ERROR' WHEN 1 THEN 'PENDING' WHEN 2 THEN 'QUEUED' ELSE 'COMPLETED' END, 3, n % 4,
        now() - n * interval '1 minute'
    FROM generate_series(1, 30000) AS n;
    INSERT INTO dispatch_job_metadata (id, job_id, key, value)
    SELECT lpad(n::text, 13, '0'), lpad(n::text, 13, '0'), 'customer', 'c' || n % 5000 FROM generate_series(1, 30000) AS n;
    INSERT INTO service_accounts (id, code, name, client_ids, active, roles)
    SELECT lpad(n::text, 13, '0'), 'account-' || n, 'a', '[]', true, '[]' FROM generate_series(1, 5000) AS n;
    ANALYZE dispatch_jobs; ANALYZE dispatch_job_metadata; ANALYZE service_accounts";

fn questions() -> Vec<(&'static str, Filter)> {
    let text = |text: &str| Some(text.to_owned());
    let ago = |text: &str| Moment::parse(text);
    let with = |fill: &dyn Fn(&mut Filter)| {
        let mut filter = Filter::default();
        fill(&mut filter);
        filter
    };
    vec![
        ("all", Filter::default()),
        ("pending jobs that are due", with(&|filter| filter.due = true)),
        ("by event", with(&|filter| filter.event_id = text("event-7"))),
        ("by subscription", with(&|filter| filter.subscription_id = text("s-7"))),
        ("failed jobs to retry", with(&|filter| filter.retryable = true)),
        ("by status", with(&|filter| filter.status = Some(DispatchStatus::Queued))),
        ("by the most common status", with(&|filter| filter.status = Some(DispatchStatus::Completed))),
        ("by client", with(&|filter| filter.client_id = text("client-7"))),
        ("in progress", with(&|filter| filter.status = Some(DispatchStatus::InProgress))),
        ("by code", with(&|filter| filter.code = text("code-7"))),
        ("by time", with(&|filter| filter.created_before = ago("2020-01-01T00:00:00Z"))),
        (
            "by metadata",
            with(&|filter| {
                filter.metadata = Some(MetadataFilter { key: "customer".to_owned(), value: "c7".to_owned() });
            }),
        ),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn j16_each_common_query_uses_an_index() {
    fixture::postgres(|fixture| async move { answered_by_indexes(&fixture).await }).await;
}

async fn answered_by_indexes(fixture: &Fixture) {
    fixture.run(JOBS).await;
    let recording =
        Arc::new(RecordingDatabase { inner: Arc::clone(&fixture.database), statements: Mutex::default() });
    let hub = Hub::open(Arc::clone(&recording) as _, Settings::default(), None).await.expect("a hub");
    let by_index = |what: &str, plan: &str| {
        assert!(plan.contains("Index") && !plan.contains("Seq Scan"), "{what}:\n{plan}");
    };
    for (what, filter) in questions() {
        let page = PageQuery { limit: Some(10), cursor: None };
        let first = hub.jobs(&root(), &filter, &page).await.expect(what);
        let plan = recording.plan("dispatch_jobs").await;
        // These filters have no index: a page reads a part of the table, however large the table is.
        if matches!(what, "by time" | "by code" | "by status" | "by the most common status") {
            continue;
        }
        by_index(what, &plan);
        // By key alone, the query would scan all newer rows of other kinds.
        assert_eq!(
            plan.contains("dispatch_jobs_pkey"),
            matches!(what, "all" | "by metadata"),
            "{what}:\n{plan}"
        );
        if let Some(cursor) = first.next_cursor {
            let next = PageQuery { limit: Some(10), cursor: Some(cursor) };
            hub.jobs(&root(), &filter, &next).await.expect(what);
            let plan = recording.plan("dispatch_jobs").await;
            by_index(what, &plan);
            // The jobs in ERROR are merged from three parts of an index, of which each gives one page.
            let merged = plan.contains("Append") && plan.matches("Sort  ").count() == 1;
            assert!(merged || !plan.contains("Sort"), "{what}, the second page:\n{plan}");
        }
    }
    let page = PageQuery::default();
    hub.accounts(&root(), Some("account-7"), &page).await.expect("an account");
    by_index("a service account by code", &recording.plan("service_accounts").await);
    let dead = Filter { client_id: Some("client-7".to_owned()), ..Filter::default() };
    hub.retry_jobs(&root(), &dead).await.expect("a bulk retry");
    by_index("a bulk retry", &recording.plan("dispatch_jobs").await);
}

/// SQLite would use an index on the bare status for claims too and sort the whole backlog, so the index of the lists is
/// on an expression.
#[tokio::test(flavor = "multi_thread")]
async fn j16_on_sqlite_lists_have_an_index_that_no_claim_uses() {
    fixture::sqlite(|fixture| async move {
        let recording = Arc::new(RecordingDatabase { inner: Arc::clone(&fixture.database), statements: Mutex::default() });
        let hub = Hub::open(Arc::clone(&recording) as _, Settings::default(), None).await.expect("a hub");
        let failed = Filter { status: Some(DispatchStatus::Error), ..Filter::default() };
        hub.jobs(&root(), &failed, &PageQuery::default()).await.expect("a page");
        let plan = recording.plan("dispatch_jobs").await;
        assert!(plan.contains("dispatch_jobs_states3_own"), "{plan}");
        let ready = "SELECT id FROM dispatch_jobs WHERE (status = 'QUEUED' OR (status = 'ERROR' AND next_attempt_at IS NOT NULL)) \
                     ORDER BY id LIMIT 1";
        let plan = explain(&*fixture.database, ready, Vec::new()).await;
        assert!(!plan.contains("dispatch_jobs_states3_own") && !plan.contains("TEMP B-TREE"), "{plan}");
    })
    .await;
}
