use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};

use async_trait::async_trait;

use super::super::directory::Subscription;
use super::*;

/// A directory whose queries take 10 ms and return the data as it is when they start.
#[derive(Default)]
struct Slow {
    paused: AtomicBool,
    /// Whether writes fail while reads succeed.
    read_only: AtomicBool,
    queries: AtomicUsize,
}

#[async_trait]
impl Directory for Slow {
    async fn look_up(&self, asked: &LookupRequest) -> Result<LookupResult, DirectoryUnavailable> {
        self.queries.fetch_add(1, SeqCst);
        let paused = self.paused.load(SeqCst);
        sleep(Duration::from_millis(10)).await;
        let one = |id: &String| (id.clone(), Subscription { may_postpone: false, paused });
        Ok(LookupResult {
            subscriptions: asked.subscriptions.iter().map(one).collect(),
            ..LookupResult::default()
        })
    }

    async fn pause_subscription(&self, _subscription: &str) -> Result<(), DirectoryUnavailable> {
        sleep(Duration::from_millis(10)).await;
        if self.read_only.load(SeqCst) {
            return Err(DirectoryUnavailable("read-only".to_owned()));
        }
        self.paused.store(true, SeqCst);
        Ok(())
    }
}

fn lookups() -> (Arc<BatchedLookups>, Arc<Slow>) {
    let directory = Arc::new(Slow::default());
    (Arc::new(BatchedLookups::new(Arc::clone(&directory) as Arc<dyn Directory>)), directory)
}

async fn is_paused(lookups: &BatchedLookups, id: &str) -> bool {
    lookups.look_up(None, Some(id)).await.unwrap().subscriptions[id].paused
}

#[tokio::test(start_paused = true)]
async fn j10_no_answer_is_older_than_its_question() {
    let (lookups, directory) = lookups();
    assert!(!is_paused(&lookups, "a").await);
    directory.paused.store(true, SeqCst);
    assert!(is_paused(&lookups, "a").await, "nothing is kept");
    directory.paused.store(false, SeqCst);
    let early = tokio::spawn({
        let lookups = Arc::clone(&lookups);
        async move { is_paused(&lookups, "a").await }
    });
    sleep(Duration::from_millis(5)).await;
    directory.paused.store(true, SeqCst);
    assert!(is_paused(&lookups, "a").await, "a query that began before is not shared");
    assert!(!early.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn concurrent_rows_share_a_query() {
    let (lookups, directory) = lookups();
    let many = (0..500).map(|n| {
        let lookups = Arc::clone(&lookups);
        tokio::spawn(async move { is_paused(&lookups, &format!("s{n}")).await })
    });
    for one in many.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    assert!(directory.queries.load(SeqCst) <= 3, "{}", directory.queries.load(SeqCst));
    assert!(lookups.look_up(None, None).await.unwrap().accounts.is_empty());
    assert!(directory.queries.load(SeqCst) <= 3, "who asks for nobody needs no query");
}

#[tokio::test(start_paused = true)]
async fn j05_a_gone_receiver_is_known_before_the_pause_is_written() {
    let (lookups, _) = lookups();
    assert_eq!(lookups.is_gone("a"), None);
    let pausing = tokio::spawn({
        let lookups = Arc::clone(&lookups);
        async move { lookups.pause("a").await }
    });
    sleep(Duration::from_millis(5)).await;
    assert_eq!((lookups.is_gone("a"), lookups.is_gone("b")), (Some(GoneReceiver::Pausing), None));
    pausing.await.unwrap();
    assert!(
        matches!(lookups.is_gone("a"), Some(GoneReceiver::PausedAt(_))) && is_paused(&lookups, "a").await
    );
}

#[tokio::test(start_paused = true)]
async fn j05_a_pause_that_cannot_be_written_holds_all_the_same_and_is_written_later() {
    let (lookups, directory) = lookups();
    directory.read_only.store(true, SeqCst);
    lookups.pause("a").await;
    assert_eq!(lookups.is_gone("a"), Some(GoneReceiver::Pausing), "nothing is sent to it");
    sleep(Duration::from_mins(2)).await;
    assert_eq!(lookups.is_gone("a"), Some(GoneReceiver::Pausing));
    directory.read_only.store(false, SeqCst);
    sleep(MAX_RETRY_DELAY + Duration::from_secs(1)).await;
    assert!(
        matches!(lookups.is_gone("a"), Some(GoneReceiver::PausedAt(_))) && is_paused(&lookups, "a").await
    );
}
