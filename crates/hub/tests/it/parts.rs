//! Lists with a filter that no index serves: a page reads parts of the table until it has a row, and the next one reads
//! on.

use postrider_hub::job::{DispatchStatus, Filter};
use postrider_hub::page::PageQuery;

use crate::fixture::{self, Fixture, root};

/// 120,000 jobs, more than two parts; only the three oldest are QUEUED, and one in the middle has another code.
const JOBS: &str = "
    INSERT INTO dispatch_jobs (id, kind, code, target_url, protocol, payload_content_type, data_only, mode, sequence,
        timeout_seconds, status, max_retries, attempt_count)
    SELECT lpad(n::text, 13, '0'), 'TASK', CASE n WHEN 60000 THEN 'rare' ELSE 'code' END, 'https://example.com/',
        'HTTP_WEBHOOK', 'application/json', true, 'IMMEDIATE', 99, 30, CASE WHEN n <= 3 THEN 'QUEUED' ELSE 'COMPLETED' END, 3, 0
    FROM generate_series(1, 120000) AS n;
    ANALYZE dispatch_jobs";

async fn pages(fixture: &Fixture, filter: &Filter) -> Vec<Vec<String>> {
    let mut page = PageQuery { limit: Some(2), cursor: None };
    let mut pages = Vec::new();
    loop {
        let found = fixture.hub.jobs(&root(), filter, &page).await.expect("a page");
        pages.push(found.items.into_iter().map(|job| job.id).collect());
        match found.next_cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return pages,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn j16_a_list_without_an_index_is_read_in_parts_and_complete() {
    fixture::postgres(|fixture| async move {
        fixture.run(JOBS).await;
        let queued = Filter { status: Some(DispatchStatus::Queued), ..Filter::default() };
        let found = pages(&fixture, &queued).await;
        assert_eq!(
            found.iter().map(Vec::len).collect::<Vec<_>>(),
            [2, 1],
            "two parts without any are read on"
        );
        let ids: Vec<String> = (1..=3).rev().map(|n| format!("{n:013}")).collect();
        assert_eq!(found.concat(), ids);
        let code = Filter { code: Some("rare".to_owned()), ..Filter::default() };
        assert_eq!(pages(&fixture, &code).await, [vec![format!("{:013}", 60000)], vec![]]);
    })
    .await;
}

/// Ten jobs in ERROR: dead, waiting for another attempt, and without attempts left, in turn; and jobs of other statuses
/// between them.
async fn failed_jobs_are_listed_in_order(fixture: Fixture, time: &str) {
    for n in 1..=14 {
        let (status, attempts, due) = match n % 7 {
            0 => ("QUEUED", 3, "NULL"),
            3 => ("PENDING", 0, "NULL"),
            1 | 4 => ("ERROR", 3, "NULL"),
            2 | 5 => ("ERROR", 1, time),
            _ => ("ERROR", 3, time),
        };
        fixture
            .run(&format!(
                "INSERT INTO dispatch_jobs (id, kind, code, target_url, protocol, payload_content_type, data_only, mode, sequence, \
                 timeout_seconds, status, max_retries, attempt_count, next_attempt_at) VALUES ('{n:013}', 'TASK', 'code', \
                 'https://example.com/', 'HTTP_WEBHOOK', 'application/json', true, 'IMMEDIATE', 99, 30, '{status}', 3, {attempts}, \
                 {due})"
            ))
            .await;
    }
    let failed = Filter { status: Some(DispatchStatus::Error), ..Filter::default() };
    let found = pages(&fixture, &failed).await;
    let ids = [13, 12, 11, 9, 8, 6, 5, 4, 2, 1].map(|n: u32| format!("{n:013}"));
    assert_eq!(found.concat(), ids);
    let retryable = Filter { retryable: true, ..failed };
    let found = pages(&fixture, &retryable).await;
    assert_eq!(found.concat(), [12, 9, 5, 2].map(|n: u32| format!("{n:013}")));
}

#[tokio::test(flavor = "multi_thread")]
async fn j16_failed_jobs_are_merged_from_the_parts_of_their_index() {
    fixture::postgres(|fixture| failed_jobs_are_listed_in_order(fixture, "now()")).await;
    fixture::mysql(|fixture| failed_jobs_are_listed_in_order(fixture, "UTC_TIMESTAMP(6)")).await;
    fixture::sqlite(|fixture| failed_jobs_are_listed_in_order(fixture, "'2026-01-01T00:00:00.000Z'")).await;
}
