//! Laws of named locks and pauses, which workers on one database share.

use std::time::Duration;

use crate::test_case::{TestCase, retry_transient};

const MINUTE: Duration = Duration::from_mins(1);

pub(crate) async fn locks_are_exclusive(case: &TestCase) {
    let (a, b) = (case.worker("a").await.store, case.worker("b").await.store);
    assert!(retry_transient(|| a.lock("purge", MINUTE)).await, "it is free");
    assert!(!retry_transient(|| b.lock("purge", MINUTE)).await, "it is taken");
    assert!(retry_transient(|| b.lock("sweep", MINUTE)).await, "another name is another lock");
    assert!(retry_transient(|| a.lock("purge", MINUTE)).await, "its owner renews it");
    retry_transient(|| b.unlock("purge")).await;
    assert!(!retry_transient(|| b.lock("purge", MINUTE)).await, "only its owner gives it back");
    retry_transient(|| a.unlock("purge")).await;
    retry_transient(|| a.unlock("purge")).await;
    assert!(retry_transient(|| b.lock("purge", MINUTE)).await, "it was given back");
    // Renewed with a duration of zero, it ends at once.
    retry_transient(|| b.lock("purge", Duration::ZERO)).await;
    tokio::time::sleep(Duration::from_millis(3)).await;
    assert!(retry_transient(|| a.lock("purge", MINUTE)).await, "it has run out");
}

pub(crate) async fn pause_is_shared(case: &TestCase) {
    let (a, b) = (case.worker("a").await.store, case.worker("b").await.store);
    assert!(!retry_transient(|| b.paused("mail")).await, "nobody paused it");
    retry_transient(|| a.set_paused("mail", true)).await;
    retry_transient(|| a.set_paused("mail", true)).await;
    assert!(retry_transient(|| b.paused("mail")).await, "the other sees it");
    assert!(!retry_transient(|| b.paused("news")).await, "another lane is not");
    retry_transient(|| b.set_paused("mail", false)).await;
    assert!(!retry_transient(|| a.paused("mail")).await, "resumed");
}
