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
    async fn look_up(&self, asked: &Asked) -> Result<Found, Away> {
        self.queries.fetch_add(1, SeqCst);
        let paused = self.paused.load(SeqCst);
        sleep(Duration::from_millis(10)).await;
        let one = |id: &String| (id.clone(), Subscription { may_postpone: false, paused });
        Ok(Found { subscriptions: asked.subscriptions.iter().map(one).collect(), ..Found::default() })
    }

    async fn gone(&self, _subscription: &str) -> Result<(), Away> {
        sleep(Duration::from_millis(10)).await;
        if self.read_only.load(SeqCst) {
            return Err(Away("read-only".to_owned()));
        }
        self.paused.store(true, SeqCst);
        Ok(())
    }
}

fn rounds() -> (Arc<Rounds>, Arc<Slow>) {
    let directory = Arc::new(Slow::default());
    (Arc::new(Rounds::new(Arc::clone(&directory) as Arc<dyn Directory>)), directory)
}

async fn is_paused(rounds: &Rounds, id: &str) -> bool {
    rounds.look_up(None, Some(id)).await.unwrap().subscriptions[id].paused
}

#[tokio::test(start_paused = true)]
async fn j10_no_answer_is_older_than_its_question() {
    let (rounds, directory) = rounds();
    assert!(!is_paused(&rounds, "a").await);
    directory.paused.store(true, SeqCst);
    assert!(is_paused(&rounds, "a").await, "nothing is kept");
    directory.paused.store(false, SeqCst);
    let early = tokio::spawn({
        let rounds = Arc::clone(&rounds);
        async move { is_paused(&rounds, "a").await }
    });
    sleep(Duration::from_millis(5)).await;
    directory.paused.store(true, SeqCst);
    assert!(is_paused(&rounds, "a").await, "a query that began before is not shared");
    assert!(!early.await.unwrap());
}

#[tokio::test(start_paused = true)]
async fn rows_that_ask_together_share_a_query() {
    let (rounds, directory) = rounds();
    let many = (0..500).map(|n| {
        let rounds = Arc::clone(&rounds);
        tokio::spawn(async move { is_paused(&rounds, &format!("s{n}")).await })
    });
    for one in many.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    assert!(directory.queries.load(SeqCst) <= 3, "{}", directory.queries.load(SeqCst));
    assert!(rounds.look_up(None, None).await.unwrap().accounts.is_empty());
    assert!(directory.queries.load(SeqCst) <= 3, "who asks for nobody needs no query");
}

#[tokio::test(start_paused = true)]
async fn j05_a_receiver_that_is_gone_is_known_before_the_pause_is_written() {
    let (rounds, _) = rounds();
    assert_eq!(rounds.is_gone("a"), None);
    let pausing = tokio::spawn({
        let rounds = Arc::clone(&rounds);
        async move { rounds.pause("a").await }
    });
    sleep(Duration::from_millis(5)).await;
    assert_eq!((rounds.is_gone("a"), rounds.is_gone("b")), (Some(Gone::Pausing), None));
    pausing.await.unwrap();
    assert!(matches!(rounds.is_gone("a"), Some(Gone::PausedAt(_))) && is_paused(&rounds, "a").await);
}

#[tokio::test(start_paused = true)]
async fn j05_a_pause_that_cannot_be_written_holds_all_the_same_and_is_written_later() {
    let (rounds, directory) = rounds();
    directory.read_only.store(true, SeqCst);
    rounds.pause("a").await;
    assert_eq!(rounds.is_gone("a"), Some(Gone::Pausing), "nothing is sent to it");
    sleep(Duration::from_mins(2)).await;
    assert_eq!(rounds.is_gone("a"), Some(Gone::Pausing));
    directory.read_only.store(false, SeqCst);
    sleep(LONGEST_WAIT + Duration::from_secs(1)).await;
    assert!(matches!(rounds.is_gone("a"), Some(Gone::PausedAt(_))) && is_paused(&rounds, "a").await);
}
