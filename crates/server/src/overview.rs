//! The overview: the state of every lane, and messages about what needs attention.
//!
//! Owns: one sampler for all viewers; the rates of the last hour. Must not: query a database while there is no viewer,
//! or more often than every [`COUNT_EVERY`]. Invariant: its memory is bounded by the lanes and an hour.

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

use self::counts::{Counts, Question};
use self::rates::Rates;
use crate::LaneControl;

pub(crate) use attention::span;
pub use view::Overview;

/// Interval of reading the engine's counters, which costs nothing.
const TICK: Duration = Duration::from_secs(1);
/// Interval of overviews while nothing changes.
const PICTURE_EVERY: Duration = Duration::from_secs(3);
/// Interval of queries to a lane's database, regardless of the number of viewers.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// Time limit of a database; after that it is shown as not available.
const PATIENCE: Duration = Duration::from_secs(5);
/// Maximum concurrent streams, of all keys and of one key with its sessions.
const VIEWERS: usize = 100;
const VIEWERS_PER_KEY: usize = 20;

/// Samples the lanes for all viewers of the overview.
pub struct Sampler {
    lanes: Arc<dyn LaneControl>,
    rates: Mutex<Rates>,
    counts: Mutex<BTreeMap<String, Counts>>,
    /// Queries that have not returned yet, by lane.
    open: Mutex<BTreeMap<String, Question>>,
    /// Time of the last queries; locked while they run.
    asked: tokio::sync::Mutex<Option<Instant>>,
    asking: AtomicBool,
    pictures: watch::Sender<Option<Arc<Overview>>>,
    places: Arc<Semaphore>,
    per_key: Arc<Mutex<HashMap<String, usize>>>,
}

/// A viewer, which gets every new overview. It counts until it is dropped.
pub struct Viewer {
    pictures: watch::Receiver<Option<Arc<Overview>>>,
    _place: OwnedSemaphorePermit,
    _share: KeyShare,
}

/// A stream of one key, counted until it is dropped.
struct KeyShare {
    key: String,
    counts: Arc<Mutex<HashMap<String, usize>>>,
}

impl KeyShare {
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

impl Drop for KeyShare {
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
            self.pictures.changed().await.ok()?;
            let picture = self.pictures.borrow_and_update().clone();
            if picture.is_some() {
                return picture;
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
            asked: tokio::sync::Mutex::default(),
            asking: AtomicBool::new(false),
            pictures: watch::Sender::new(None),
            places: Arc::new(Semaphore::new(VIEWERS)),
            per_key: Arc::default(),
        }
    }

    /// Samples in the background until the last reference is dropped.
    pub fn start(self: &Arc<Self>) {
        let sampler = Arc::downgrade(self);
        tokio::spawn(async move {
            let mut shown = Shown::default();
            let mut ticks = tokio::time::interval(TICK);
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
        locked(&self.rates).note(now, &statuses);
        if self.pictures.receiver_count() == 0 {
            return;
        }
        if !self.asking.swap(true, Relaxed) {
            let sampler = Arc::clone(self);
            tokio::spawn(async move {
                sampler.ask().await;
                sampler.asking.store(false, Relaxed);
            });
        }
        if shown.is_due(now, &statuses) {
            self.pictures.send_replace(Some(Arc::new(self.picture(&statuses))));
        }
    }

    /// Opens a stream for this key, with an overview immediately; `None` if the key or all keys have too many.
    pub async fn view(&self, key: &str) -> Option<Viewer> {
        let share = KeyShare::take(&self.per_key, key)?;
        let place = Arc::clone(&self.places).try_acquire_owned().ok()?;
        let pictures = self.pictures.subscribe();
        let picture = self.look().await;
        self.pictures.send_replace(Some(Arc::new(picture)));
        Some(Viewer { pictures, _place: place, _share: share })
    }

    /// Returns the current overview, with counts no older than [`COUNT_EVERY`].
    pub async fn look(&self) -> Overview {
        self.ask().await;
        self.picture(&self.lanes.lanes())
    }

    /// Queries every lane's database, if the last query is not recent. One at a time; a caller that waits uses its
    /// result.
    async fn ask(&self) {
        let mut asked = self.asked.lock().await;
        if asked.is_some_and(|last| last.elapsed() < COUNT_EVERY) {
            return;
        }
        let names: Vec<String> = self.lanes.lanes().into_iter().map(|lane| lane.lane).collect();
        let answers = names.iter().map(|name| counts::ask(&self.lanes, name, &self.open, PATIENCE));
        let answers = futures::future::join_all(answers).await;
        *locked(&self.counts) = names.into_iter().zip(answers).collect();
        *asked = Some(Instant::now());
    }

    fn picture(&self, statuses: &[LaneStatus]) -> Overview {
        let (rates, counts) = (locked(&self.rates), locked(&self.counts));
        view::drawn(&*self.lanes, statuses, &rates, &counts)
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
        let old = self.at.is_none_or(|at| now.duration_since(at) >= PICTURE_EVERY);
        if !old && health == self.health {
            return false;
        }
        *self = Self { at: Some(now), health };
        true
    }
}

#[cfg(test)]
mod tests;
