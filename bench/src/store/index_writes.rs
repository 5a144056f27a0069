//! Counts the index entries that one row costs on PostgreSQL from its insert to its delivery, on the path that most rows
//! take: delivered at the first attempt, without group, pool and schedule.
//!
//! A new version of a row adds an entry to each index whose condition it satisfies, unless the update stayed within the
//! page and changed nothing that an index names (a HOT update). So the bench moves some rows through their life with
//! the store's own statements. After each move it evaluates the condition of every index, and leaves out the updates
//! that the server counted as HOT. A purge adds no entry.

use std::time::Duration;

use postrider_contract::Contract;
use postrider_seams::Store;
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::store::Settlement;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, Row as _};

use crate::lane::delivered;
use crate::postgres::BenchDatabase;
use crate::report::{Figure, Report};

/// Rows of each table.
const ROWS: u32 = 100;

/// A contract, the stages that a row passes, and the values of `ROWS` rows.
struct Life {
    contract: &'static str,
    stages: &'static [&'static str],
    insert: &'static str,
}

const LIVES: [Life; 5] = [
    Life {
        contract: "mail_outbox",
        stages: &["dispatch"],
        insert: "(next_attempt_at, to_addresses, subject) SELECT now(), 'to@example.org', 'Order' FROM n",
    },
    Life {
        contract: "outbox",
        stages: &["publish"],
        insert: "(topic, payload, idempotency_key, created_at) SELECT 'events', '{}', 'key-' || i, \
                 now() - interval '1 minute' FROM n",
    },
    Life {
        contract: "dispatch_jobs",
        stages: &["deliver"],
        insert: "(id, code, source, target_url, payload, client_id, queued_at) SELECT lpad(i::text, 13, '0'), \
                 'shop:orders:order:created', 'bench', 'https://example.com/hook', '{}', NULL, now() FROM n",
    },
    Life {
        contract: "open_event_notifications",
        stages: &["notify"],
        insert: "(open_event_id, subscription_id, dedupe_key) SELECT 1, i, 'key' FROM n",
    },
    Life {
        contract: "emails",
        stages: &["intake", "send"],
        insert: "(id, status, payload_file_path) SELECT lpad(i::text, 26, '0'), 'ACCEPTED', 'mail.json' FROM n",
    },
];

/// Measures every built-in contract, with the API's tables.
pub async fn run(report: Report) {
    let settings = |url: &str| {
        format!(
            "[server]\nlisten = \"127.0.0.1:0\"\napi = \"main\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
             [transports.folder]\nurl = \"file:outbox\"\n\n[transports.hooks]\nurl = \"webhook://\"\n\n\
             [mail]\nfrom = \"shop@example.com\"\n\n\
             [lanes.jobs]\ncontract = \"dispatch_jobs\"\ntransport = \"hooks\"\n"
        )
    };
    let database = BenchDatabase::create("bench_index_writes", settings).await;
    for life in &LIVES {
        Report::progress(&format!("index entries per row of {}", life.contract));
        let measured = measure(&database.url, life).await;
        let case = |what: &str| format!("postgres: {}: {what}", life.contract);
        report.print(&Figure::new(
            "store",
            case("indexes with the primary key"),
            measured.indexes,
            "indexes",
        ));
        report.print(
            &Figure::new("store", case("index writes per row"), measured.entries, "entries")
                .compared_with("the primary key", measured.of_the_key),
        );
    }
}

struct Measured {
    indexes: f64,
    /// Entries per row, of all indexes.
    entries: f64,
    /// Entries per row, of the primary key alone.
    of_the_key: f64,
}

async fn measure(url: &str, life: &Life) -> Measured {
    let text = Contract::builtin(life.contract).expect("a built-in");
    let contract = Contract::parse(life.contract, text).expect("a built-in contract is valid");
    let settings = postrider_store_postgres::Settings::new(url.to_owned());
    let database = postrider_store_postgres::Database::connect(&settings).expect("settings are right");
    let migration = database.migration(contract.clone());
    migration.apply(MigrateOptions::default()).await.expect("migrated");
    let mut counted = Counted { connection: PgConnection::connect(url).await.expect("connected"), life };
    let numbers = format!("WITH n AS (SELECT i FROM generate_series(1, {ROWS}) AS i)");
    counted.execute(&format!("TRUNCATE {} CASCADE", life.contract)).await;
    counted.execute(&format!("{numbers} INSERT INTO {} {}", life.contract, life.insert)).await;
    let mut entries = counted.entries().await;
    let mut versions = 1.0;
    for stage in life.stages {
        let store = database.open(contract.clone(), stage, "bench").await.expect("opened");
        let mut rows = Vec::new();
        while rows.len() < ROWS as usize {
            rows.extend(store.claim(ROWS).await.expect("claimed"));
        }
        let claimed = counted.new_share(&*store, &[]).await;
        entries += counted.entries().await * claimed;
        let moves: Vec<_> = rows.into_iter().map(|row| delivered(row.lease)).collect();
        store.settle(&moves).await.expect("settled");
        let settled = counted.new_share(&*store, &moves).await;
        entries += counted.entries().await * settled;
        versions += claimed + settled;
    }
    let indexes = "SELECT count(*)::float8 FROM pg_index WHERE indrelid = to_regclass($1)";
    let indexes: f64 = sqlx::query_scalar(indexes)
        .bind(life.contract)
        .fetch_one(&mut counted.connection)
        .await
        .expect("counted");
    Measured { indexes, entries, of_the_key: versions }
}

/// The indexes of a table.
struct Counted<'a> {
    connection: PgConnection,
    life: &'a Life,
}

impl Counted<'_> {
    async fn execute(&mut self, sql: &str) {
        self.connection.execute(AssertSqlSafe(sql)).await.expect("the bench's own SQL is right");
    }

    /// The number of indexes that hold a row as it is now, on average.
    async fn entries(&mut self) -> f64 {
        let conditions = "SELECT coalesce(pg_get_expr(indpred, indrelid), 'true') FROM pg_index WHERE indrelid = \
                          to_regclass($1)";
        let conditions: Vec<String> = sqlx::query_scalar(conditions)
            .bind(self.life.contract)
            .fetch_all(&mut self.connection)
            .await
            .expect("the conditions");
        let counts = conditions.iter().map(|condition| format!("count(*) FILTER (WHERE {condition})"));
        let sum = counts.collect::<Vec<_>>().join(" + ");
        let sql = format!("SELECT ({sum})::float8 / count(*) FROM {}", self.life.contract);
        self.connection.fetch_one(AssertSqlSafe(sql)).await.expect("counted").get(0)
    }

    /// The share of the last updates that added index entries; `moves` were settled last.
    async fn new_share(&mut self, store: &impl Store, moves: &[Settlement]) -> f64 {
        let sql = "SELECT n_tup_upd::float8, n_tup_hot_upd::float8 FROM pg_stat_user_tables \
                   WHERE relid = to_regclass($1)";
        for _ in 0..40 {
            // A session reports what it did at the end of its next statement, if a second has passed. No row is ready
            // now, and a second settle of the same rows changes nothing.
            tokio::time::sleep(Duration::from_millis(500)).await;
            assert!(store.claim(1).await.expect("claimed").is_empty());
            store.settle(moves).await.expect("settled");
            let query = sqlx::query(sql).bind(self.life.contract);
            let row = query.fetch_one(&mut self.connection).await.expect("statistics");
            let (updates, hot): (f64, f64) = (row.get(0), row.get(1));
            if updates >= f64::from(ROWS) {
                self.execute("SELECT pg_stat_reset()").await;
                return 1.0 - hot / updates;
            }
        }
        panic!("the server has not counted the updates of {}", self.life.contract)
    }
}
