//! Laws of due times.

use std::time::Duration;

use postrider_contract::{ColumnRole, DueNull};

use crate::cell::Cell;
use crate::row::{HOUR, SECOND};
use crate::subject::Subject;
use crate::test_case::TestCase;
use crate::test_table::TestedStore;

/// Inserts the n-th row so that it is due in `wait` from now.
async fn put_due_in(case: &TestCase, n: usize, wait: Duration) -> Cell {
    let now = case.table.now().await;
    let wait = i64::try_from(wait.as_micros()).expect("short");
    let mut row = case.ready_row(n).await;
    if let Some(due) = case.subject.column(ColumnRole::Due) {
        row.insert(due.to_owned(), Cell::Time(now + wait));
    } else {
        // Computed from the last attempt: after one failure no wait, after two failures two seconds.
        let after = case.subject.contract.due.after.expect("a due time is kept or computed");
        let after = case.subject.column(after).expect("it is computed from a column").to_owned();
        let attempts = case.subject.column(ColumnRole::Attempts).expect("it is computed from attempts");
        row.insert(attempts.to_owned(), Cell::Int(2));
        row.insert(after, Cell::Time(now + wait - 2 * SECOND));
    }
    case.put(row).await
}

pub(crate) async fn future_rows_wait(case: &TestCase) {
    let worker = case.worker("a").await;
    let id = put_due_in(case, 1, Duration::from_hours(1)).await;
    assert!(worker.claim(10).await.is_empty(), "an hour too early");
    case.age(&id, Duration::from_mins(59)).await;
    assert!(worker.claim(10).await.is_empty(), "a minute too early");
    case.age(&id, Duration::from_secs(61)).await;
    assert_eq!(worker.claim(10).await.len(), 1, "due");
}

pub(crate) fn null_is_not_now(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    let has = subject.has(ColumnRole::Due) && subject.contract.due.null == DueNull::Now;
    (!has).then_some("a due time is always there, or computed")
}

pub(crate) async fn null_due_is_now(case: &TestCase) {
    let worker = case.worker("a").await;
    let mut row = case.ready_row(1).await;
    row.insert(case.subject.column(ColumnRole::Due).expect("checked").to_owned(), Cell::Null);
    case.put(row).await;
    assert_eq!(worker.store.next_due().await.expect("next_due succeeds"), Some(Duration::ZERO));
    let lag = worker.store.lag().await.expect("lag succeeds");
    let waiting = lag.oldest_due_seconds.expect("a row is due");
    assert!((3500.0..7200.0).contains(&waiting), "due since it was created an hour ago, not {waiting} s ago");
    let claimed = worker.claim_one().await;
    assert!(claimed.waited_micros >= 0, "it can't have waited for {} µs", claimed.waited_micros);
    assert!(claimed.waited_micros < 2 * HOUR, "it can't have waited for {} µs", claimed.waited_micros);
}

pub(crate) async fn next_due_is_exact(case: &TestCase) {
    let worker = case.worker("a").await;
    assert_eq!(worker.store.next_due().await.expect("next_due succeeds"), None, "the table is empty");
    let id = put_due_in(case, 1, Duration::from_hours(1)).await;
    match worker.store.next_due().await.expect("next_due succeeds") {
        Some(due) => {
            assert!(
                due > Duration::from_secs(3590) && due <= Duration::from_secs(3602),
                "{due:?} is no hour"
            );
        }
        None => {
            assert!(!case.subject.has(ColumnRole::Due), "one is waiting, and its column says for how long");
        }
    }
    case.age(&id, Duration::from_mins(61)).await;
    assert_eq!(worker.store.next_due().await.expect("next_due succeeds"), Some(Duration::ZERO), "due now");
    worker.claim_one().await;
    assert_eq!(worker.store.next_due().await.expect("next_due succeeds"), None, "the only row is claimed");
}

pub(crate) fn no_requested_delay(subject: &Subject, _: TestedStore) -> Option<&'static str> {
    subject.contract.due.retry_after.is_none().then_some("the wait is in its due column, or there is none")
}

pub(crate) async fn requested_delays_are_kept(case: &TestCase) {
    let worker = case.worker("a").await;
    let subject = &case.subject;
    let wish = subject.contract.due.retry_after.as_ref().expect("checked");
    let attempts = subject.column(ColumnRole::Attempts).expect("it counts").to_owned();
    let attempted =
        subject.column(ColumnRole::Attempted).expect("the contract has an attempt-time column").to_owned();
    let now = case.table.now().await;
    let put = async |n: usize, error: &str| {
        let mut row = case.ready_row(n).await;
        row.insert(attempts.clone(), Cell::Int(1));
        row.insert(attempted.clone(), Cell::Time(now - 10 * SECOND));
        row.insert(wish.column.clone(), Cell::text(error));
        case.put(row).await
    };
    let member = &wish.member;
    let id = put(1, &format!(r#"{{"code":"rate_limited","{member}": 120}}"#)).await;
    assert!(worker.claim(10).await.is_empty(), "two minutes were asked for");
    let due = worker.store.next_due().await.expect("next_due succeeds").expect("one is waiting");
    assert!((100..=112).contains(&due.as_secs()), "{due:?} is not 110 s");
    case.age(&id, Duration::from_secs(105)).await;
    assert!(worker.claim(10).await.is_empty(), "not yet over");
    case.age(&id, Duration::from_secs(7)).await;
    assert_eq!(worker.claim(10).await.len(), 1, "over");
    let texts = [
        "",
        "{broken",
        "12",
        &format!(r#"{{"message":"\\"{member}\\": 500"}}"#),
        &format!(r#"{{"{member}":null}}"#),
    ];
    for (n, text) in texts.into_iter().enumerate() {
        put(n + 2, text).await;
        assert_eq!(worker.claim(10).await.len(), 1, "{text:?} asks for nothing");
    }
}
