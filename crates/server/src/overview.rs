//! The overview: the state of every lane, and messages about what needs attention.
//!
//! Owns: one sampler for all viewers; the rates of the last hour. Must not: query a database while there is no viewer,
//! or more often than every [`COUNT_INTERVAL`]. Invariant: its memory is bounded by the lanes and an hour.

mod attention;
mod counts;
mod rates;
mod view;

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_engine::{Health, LaneStatus};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio::time::Instant;

use self::counts::{Counts, PendingQuery};
use self::rates::Rates;
use crate::LaneControl;

pub(crate) use attention::span;
pub use view::Overview;

/// Interval of reading the engine's counters, which costs nothing.
const TICK_INTERVAL: Duration = Duration::from_secs(1);
/// Interval of overviews while nothing changes.
const OVERVIEW_INTERVAL: Duration = Duration::from_secs(3);
/// Interval of queries to a lane's database, regardless of the number of viewers.
const COUNT_INTERVAL: Duration = Duration::from_secs(10);
/// Time limit of a database; after that it is shown as not available.
const DATABASE_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum concurrent streams, of all keys and of one key with its sessions.
const VIEWERS: usize = 100;
const VIEWERS_PER_KEY: usize = 20;

/// Samples the lanes for all viewers of the overview.
pub struct Sampler {
    lanes: Arc<dyn LaneControl>,
    rates: Mutex<Rates>,
    counts: Mutex<BTreeMap<String, Counts>>,
    /// Queries that have not returned yet, by lane.
    open: Mutex<BTreeMap<String, PendingQuery>>,
    /// Time of the last queries; locked while they run.
    counted_at: tokio::sync::Mutex<Option<Instant>>,
    refreshing: AtomicBool,
    overviews: watch::Sender<Option<Arc<Overview>>>,
    places: Arc<Semaphore>,
    per_key: Arc<Mutex<HashMap<String, usize>>>,
}

/// A viewer, which gets every new overview. It counts until it is dropped.
pub struct Viewer {
    overviews: watch::Receiver<Option<Arc<Overview>>>,
    _place: OwnedSemaphorePermit,
    _share: KeyStream,
}

/// A stream of one key, counted until it is dropped.
struct KeyStream {
    key: String,
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

impl KeyStream {
    /// Counts one more stream; `None` if the key has its maximum.
    fn take(counts: &Arc<Mutex<HashMap<String, usize>>>, key: &str) -> Option<Self> {
        let mut held = locked(counts);
        let count = held.entry(key.to_owned()).or_default();
        if *count >= VIEWERS_PER_KEY {
            return None;
        }
        *count += 1;
        Some(Self { key: key.to_owned(), counts: Arc::clone(counts) })
    }
}

impl Drop for KeyStream {
    fn drop(&mut self) {
        let mut held = locked(&self.counts);
        let left = held.get(&self.key).map_or(0, |count| count.saturating_sub(1));
        if left == 0 {
            held.remove(&self.key);
        } else {
            held.insert(self.key.clone(), left);
        }
    }
}

impl Viewer {
    /// Returns the next overview; `None` when the sampler ends. Cancel-safe.
    pub async fn next(&mut self) -> Option<Arc<Overview>> {
        loop {
            self.overviews.changed().await.ok()?;
            let overview = self.overviews.borrow_and_update().clone();
            if overview.is_some() {
                return overview;
            }
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Plain numbers: a panic elsewhere cannot have left them inconsistent.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Sampler {
    /// Creates a sampler of these lanes; [`Sampler::start`] runs it.
    pub fn new(lanes: Arc<dyn LaneControl>) -> Self {
        Self {
            lanes,
            rates: Mutex::default(),
            counts: Mutex::default(),
            open: Mutex::default(),
            counted_at: tokio::sync::Mutex::default(),
            refreshing: AtomicBool::new(false),
            overviews: watch::Sender::new(None),
            places: Arc::new(Semaphore::new(VIEWERS)),
            per_key: Arc::default(),
        }
    }

    /// Samples in the background until the last reference is dropped.
    pub fn start(self: &Arc<Self>) {
        let sampler = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut shown = Shown::default();
            let mut ticks = tokio::time::interval(TICK_INTERVAL);
            ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                let Some(sampler) = sampler.upgrade() else { return };
                sampler.tick(&mut shown);
            }
        });
    }

    fn tick(self: &Arc<Self>, shown: &mut Shown) {
        let statuses = self.lanes.lanes();
        let now = Instant::now();
        locked(&self.rates).record(now, &statuses);
        if self.overviews.receiver_count() == 0 {
            return;
        }
        if !self.refreshing.swap(true, Relaxed) {
            let sampler = Arc::clone(self);
            tokio::spawn(async move {
                sampler.refresh_counts().await;
                sampler.refreshing.store(false, Relaxed);
            });
        }
        if shown.is_due(now, &statuses) {
            self.overviews.send_replace(Some(Arc::new(self.snapshot(&statuses))));
        }
    }

    /// Opens a stream for this key, with an overview immediately; `None` if the key or all keys have too many.
    pub async fn view(&self, key: &str) -> Option<Viewer> {
        let share = KeyStream::take(&self.per_key, key)?;
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let overviews = self.overviews.subscribe();
        let overview = self.current().await;
        self.overviews.send_replace(Some(Arc::new(overview)));
        Some(Viewer { overviews, _place: place, _share: share })
    }

    /// Returns the current overview, with counts no older than [`COUNT_INTERVAL`].
    pub async fn current(&self) -> Overview {
        self.refresh_counts().await;
        self.snapshot(&self.lanes.lanes())
    }

    /// Queries every lane's database, if the last query is not recent. One at a time; a caller that waits uses its
    /// result.
    async fn refresh_counts(&self) {
        let mut counted_at = self.counted_at.lock().await;
        if counted_at.is_some_and(|last| last.elapsed() < COUNT_INTERVAL) {
            return;
        }
        let names: Vec<String> = self.lanes.lanes().into_iter().map(|lane| lane.lane).collect();
        let answers = names.iter().map(|name| counts::query(&self.lanes, name, &self.open, DATABASE_TIMEOUT));
        let answers = futures::future::join_all(answers).await;
        *locked(&self.counts) = names.into_iter().zip(answers).collect();
        *counted_at = Some(Instant::now());
    }

    fn snapshot(&self, statuses: &[LaneStatus]) -> Overview {
        let (rates, counts) = (locked(&self.rates), locked(&self.counts));
        view::build_overview(&*self.lanes, statuses, &rates, &counts)
    }
}

/// The health of the lanes in the last overview.
#[derive(Default)]
struct Shown {
    at: Option<Instant>,
    health: Vec<(String, Health)>,
}

impl Shown {
    /// Whether a new overview is due; immediately if a lane's health changed.
    fn is_due(&mut self, now: Instant, statuses: &[LaneStatus]) -> bool {
        let health: Vec<_> = statuses.iter().map(|lane| (lane.lane.clone(), lane.health.clone())).collect();
        let old = self.at.is_none_or(|at| now.duration_since(at) >= OVERVIEW_INTERVAL);
        if !old && health == self.health {
            return false;
        }
        *self = Self { at: Some(now), health };
        true
    }
}

#[cfg(test)]
mod tests;
