//! The maintenance tasks, each on its own timer: reclaim of expired leases, spent rows, the contract's sweeps, purge.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_contract::Retention;
use postrider_seams::handoff::PublishSource;
use postrider_seams::store::{self, SweepKind};
use tokio::task::JoinSet;

use crate::queue_publisher::{follow, publish_all};
use crate::runner::Runner;

/// Rows per statement: short transactions, so that other sessions do not wait for our locks.
pub(crate) const CHUNK: u32 = 500;

/// Time between two sweeps of spent rows, and the longest time between two purges.
const SLOW: Duration = Duration::from_mins(1);

/// The shortest time between two purges, whatever a retention says.
const FASTEST_PURGE: Duration = Duration::from_secs(1);

/// Time limit of the lock of a maintenance task: a little longer than a run should take.
pub(crate) const LOCK_TTL: Duration = Duration::from_secs(30);

pub(crate) async fn run(runner: Arc<Runner>) {
    let mut tasks = JoinSet::new();
    let every = runner.lane.limits.maintenance_interval;
    tasks.spawn(repeat(Arc::clone(&runner), every, "reclaim", reclaim));
    tasks.spawn(repeat(Arc::clone(&runner), SLOW, "spent", |runner| sweep(runner, SweepKind::Exhausted)));
    let handoff = runner.lane.contract.handoff(runner.stage());
    let handoff = handoff.zip(runner.lane.queue.clone());
    for (index, rule) in runner.lane.contract.sweeps.iter().enumerate() {
        let kind = SweepKind::Contract(index);
        let published = handoff.as_ref().is_some_and(|(handoff, _)| handoff.publish == index);
        if !published && (!rule.only_with_queue || handoff.is_some()) {
            tasks.spawn(repeat(Arc::clone(&runner), rule.every, "sweep", move |runner| sweep(runner, kind)));
        }
    }
    if let Some((handoff, queue)) = handoff {
        let every = runner.lane.contract.sweeps[handoff.publish].every;
        for which in [PublishSource::Waiting, PublishSource::Due] {
            let queue = Arc::clone(&queue);
            let task = move |runner| publish_all(runner, Arc::clone(&queue), which);
            tasks.spawn(repeat(Arc::clone(&runner), every, "publish", task));
        }
        tasks.spawn(follow(Arc::clone(&runner), queue));
    }
    if let Some(every) = purge_interval(&runner.lane.contract.retention) {
        tasks.spawn(repeat(Arc::clone(&runner), every, "purge", purge));
    }
    while tasks.join_next().await.is_some() {}
}

/// Returns half of the shortest retention, at most a minute, so that a finished row is deleted no later than one and a
/// half times its retention after it finished. `None` if rows are kept forever.
fn purge_interval(retention: &[Retention]) -> Option<Duration> {
    let shortest = retention.iter().map(|rule| rule.after).min()?;
    Some((shortest / 2).clamp(FASTEST_PURGE, SLOW))
}

/// Repeats one maintenance task forever, the first time immediately: after a restart there is most to do.
async fn repeat<F, R>(runner: Arc<Runner>, every: Duration, name: &'static str, task: F)
where
    F: Fn(Arc<Runner>) -> R,
    R: Future<Output = Result<(), store::Error>>,
{
    let mut failures: u32 = 0;
    loop {
        let wait = match task(Arc::clone(&runner)).await {
            Ok(()) => {
                failures = 0;
                every.mul_f64(1.0 + 0.1 * runner.dice.roll())
            }
            Err(error) => {
                failures += 1;
                tracing::warn!(lane = runner.state.name, task = name, %error, "a maintenance task failed; trying again");
                // Only the claimer reports the state of the store; a maintenance task just waits.
                Duration::from_secs(2) * failures.min(15)
            }
        };
        tokio::time::sleep(wait).await;
    }
}

/// Reclaims rows whose worker is gone. Needs no lock: every statement is guarded by state and lease end, and recovery
/// must not wait for the lock of a worker that died.
async fn reclaim(runner: Arc<Runner>) -> Result<(), store::Error> {
    loop {
        let reclaimed = runner.store.reclaim(CHUNK).await?;
        let rows = reclaimed.rows();
        if rows > 0 {
            runner.state.counters.reclaimed.fetch_add(rows, Relaxed);
            tracing::warn!(
                lane = runner.state.name,
                retried = reclaimed.retried,
                dead = reclaimed.dead,
                free = reclaimed.free,
                "reclaimed rows with expired leases"
            );
        }
        if rows < u64::from(CHUNK) {
            return Ok(());
        }
    }
}

async fn sweep(runner: Arc<Runner>, kind: SweepKind) -> Result<(), store::Error> {
    let name = match kind {
        SweepKind::Exhausted => format!("spent:{}", runner.state.name),
        SweepKind::Contract(index) => format!("sweep{index}:{}", runner.state.name),
    };
    let moved = under_lock(&runner, &name, || runner.store.sweep(kind, CHUNK)).await?;
    if moved > 0 {
        tracing::info!(lane = runner.state.name, rows = moved, sweep = name, "swept");
    }
    Ok(())
}

async fn purge(runner: Arc<Runner>) -> Result<(), store::Error> {
    let name = format!("purge:{}", runner.state.name);
    let purged = under_lock(&runner, &name, || runner.store.purge(CHUNK)).await?;
    if purged > 0 {
        tracing::info!(lane = runner.state.name, rows = purged, "purged");
    }
    Ok(())
}

/// Repeats a chunk until one comes back short, unless another worker holds the lock.
async fn under_lock<F, R>(runner: &Runner, name: &str, chunk: F) -> Result<u64, store::Error>
where
    F: Fn() -> R,
    R: Future<Output = Result<u64, store::Error>>,
{
    let mut moved = 0;
    loop {
        // Renewed before each chunk, so that a long purge keeps the lock.
        if !runner.store.lock(name, LOCK_TTL).await? {
            return Ok(moved);
        }
        let rows = chunk().await?;
        moved += rows;
        if rows < u64::from(CHUNK) {
            runner.store.unlock(name).await?;
            return Ok(moved);
        }
    }
}
