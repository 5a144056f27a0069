//! Laws of named locks and pauses, which workers on one database share.

use std::time::Duration;

use crate::trial::{Trial, patiently};

const MINUTE: Duration = Duration::from_mins(1);

pub(crate) async fn locks_are_exclusive(trial: &Trial) {
    let (a, b) = (trial.worker("a").await.store, trial.worker("b").await.store);
    assert!(patiently(|| a.lock("purge", MINUTE)).await, "it is free");
    assert!(!patiently(|| b.lock("purge", MINUTE)).await, "it is taken");
    assert!(patiently(|| b.lock("sweep", MINUTE)).await, "another name is another lock");
    assert!(patiently(|| a.lock("purge", MINUTE)).await, "its owner renews it");
    patiently(|| b.unlock("purge")).await;
    assert!(!patiently(|| b.lock("purge", MINUTE)).await, "only its owner gives it back");
    patiently(|| a.unlock("purge")).await;
    patiently(|| a.unlock("purge")).await;
    assert!(patiently(|| b.lock("purge", MINUTE)).await, "it was given back");
    // Renewed with a duration of zero, it ends at once.
    patiently(|| b.lock("purge", Duration::ZERO)).await;
    tokio::time::sleep(Duration::from_millis(3)).await;
    assert!(patiently(|| a.lock("purge", MINUTE)).await, "it has run out");
}

pub(crate) async fn pause_is_shared(trial: &Trial) {
    let (a, b) = (trial.worker("a").await.store, trial.worker("b").await.store);
    assert!(!patiently(|| b.paused("mail")).await, "nobody paused it");
    patiently(|| a.set_paused("mail", true)).await;
    patiently(|| a.set_paused("mail", true)).await;
    assert!(patiently(|| b.paused("mail")).await, "the other sees it");
    assert!(!patiently(|| b.paused("news")).await, "another lane is not");
    patiently(|| b.set_paused("mail", false)).await;
    assert!(!patiently(|| a.paused("mail")).await, "resumed");
}
