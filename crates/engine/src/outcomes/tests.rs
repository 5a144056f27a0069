use super::*;
use crate::batch::tests::held;
use crate::boot_instant::BootInstant;

const SIZES: SettleSizes = SettleSizes { near: 2, distant: 8 };

fn outcomes(count: i64, reason: &str) -> Vec<DecidedRow> {
    let (_, held) = held(count, BootInstant::now());
    let outcome = |lease| DecidedRow { reason: Some(reason.to_owned()), ..DecidedRow::released(lease) };
    held.into_iter().map(|held| outcome(held.lease)).collect()
}

async fn taken(queue: &OutcomeQueue, is_distant: bool) -> usize {
    queue.take(Duration::ZERO, || is_distant).await.map_or(0, |rows| rows.len())
}

#[tokio::test(start_paused = true)]
async fn a_settle_takes_more_outcomes_while_the_database_is_distant() {
    let queue = OutcomeQueue::new(SIZES);
    queue.push(outcomes(20, "refused"));
    assert_eq!(taken(&queue, false).await, 2);
    assert_eq!(taken(&queue, true).await, 8);
    assert_eq!(queue.take_full(|| true).await.map(|rows| rows.len()), Some(8));
    assert_eq!(taken(&queue, true).await, 2, "the rest");
}

#[tokio::test(start_paused = true)]
async fn a_large_settle_is_limited_by_the_bytes_of_its_texts() {
    let queue = OutcomeQueue::new(SIZES);
    queue.push(outcomes(20, &"x".repeat(DISTANT_BYTES / 4)));
    assert_eq!(taken(&queue, true).await, 4);
    let queue = OutcomeQueue::new(SIZES);
    queue.push(outcomes(20, &"x".repeat(DISTANT_BYTES)));
    assert_eq!(taken(&queue, true).await, 2, "as many as with a near database");
}
