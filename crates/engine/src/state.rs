//! The state of a lane: its counters, and the conditions from which its health is derived.
//!
//! Each part of the loop reports only its own condition here; [`LaneState::health`] is the only place that combines
//! them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use crate::status::{Health, LaneStatus};

/// The lifecycle phase of a lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Running,
    Draining,
    Stopped,
}

/// The reason why nothing is sent to the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetTrouble {
    Unreachable(String),
    Refused(String),
}

/// The reason why the store cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreTrouble {
    Unavailable(String),
    Misconfigured(String),
}

#[derive(Debug)]
struct Conditions {
    phase: Phase,
    paused: bool,
    target: Option<TargetTrouble>,
    /// Whether a target in trouble is tried with one row at a time.
    trial: bool,
    store: Option<StoreTrouble>,
    /// Why the database seems to refuse every outcome, and whether this closes the lane for claims.
    refused: Option<(String, bool)>,
    queue: Option<String>,
    /// Why the contract is probably wrong.
    contract: Option<String>,
    stalled: Option<String>,
    /// Since when the lane has been stalled, or its store away, without interruption.
    stuck: Option<Instant>,
}

impl Conditions {
    fn note_stuck(&mut self) {
        let is_stuck = self.stalled.is_some() || matches!(self.store, Some(StoreTrouble::Unavailable(_)));
        self.stuck = if is_stuck { self.stuck.or_else(|| Some(Instant::now())) } else { None };
    }
}

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// Rows held, including the room reserved by claims in flight.
    pub held: AtomicU64,
    /// Room reserved by claims in flight.
    pub reserved: AtomicU64,
    pub claimed: AtomicU64,
    pub delivered: AtomicU64,
    pub retried: AtomicU64,
    pub failed: AtomicU64,
    pub lost: AtomicU64,
    pub reclaimed: AtomicU64,
}

/// The state of one lane, shared by its parts and read for the status.
#[derive(Debug)]
pub(crate) struct LaneState {
    pub name: String,
    contract: String,
    stage: String,
    pub counters: Counters,
    /// Whether rows may be claimed. Read in every iteration of the loop, so stored outside the lock.
    open: AtomicBool,
    conditions: Mutex<Conditions>,
    /// Until when rows of a claim without an answer may be leased although no worker has them.
    unanswered: Mutex<Option<Instant>>,
    /// Incremented whenever a condition changes; parts of the loop subscribe to it.
    changed: watch::Sender<u64>,
    /// Wakes those that wait in [`LaneState::closed`].
    woken: Notify,
}

impl LaneState {
    /// Creates the state of a lane that is starting and closed for claims.
    pub fn new(name: &str, contract: &str, stage: &str) -> Self {
        Self {
            name: name.to_owned(),
            contract: contract.to_owned(),
            stage: stage.to_owned(),
            counters: Counters::default(),
            open: AtomicBool::new(false),
            conditions: Mutex::new(Conditions {
                phase: Phase::Starting,
                paused: false,
                target: None,
                trial: false,
                store: None,
                refused: None,
                queue: None,
                contract: None,
                stalled: None,
                stuck: None,
            }),
            unanswered: Mutex::default(),
            changed: watch::Sender::new(0),
            woken: Notify::new(),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Conditions> {
        // Conditions are plain values: a panic elsewhere cannot have left them half written.
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Conditions) -> bool) {
        let mut conditions = self.lock();
        if change(&mut conditions) {
            conditions.note_stuck();
            let target_is_open = conditions.target.is_none() || conditions.trial;
            let is_refused = conditions.refused.as_ref().is_some_and(|(_, closes)| *closes);
            let is_closed = is_refused || conditions.contract.is_some();
            let open =
                conditions.phase == Phase::Running && !conditions.paused && target_is_open && !is_closed;
            self.open.store(open, Relaxed);
            drop(conditions);
            self.changed.send_modify(|tick| *tick += 1);
            self.woken.notify_waiters();
        }
    }

    /// Sets the lifecycle phase.
    pub fn set_phase(&self, phase: Phase) {
        self.change(|conditions| std::mem::replace(&mut conditions.phase, phase) != phase);
    }

    /// Returns the lifecycle phase.
    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    /// Sets or clears the operator's pause.
    pub fn set_paused(&self, paused: bool) {
        self.change(|conditions| std::mem::replace(&mut conditions.paused, paused) != paused);
    }

    /// Sets or clears the target's trouble; ends a trial as well.
    pub fn set_target(&self, trouble: Option<TargetTrouble>) {
        self.change(|conditions| {
            let was_on_trial = std::mem::take(&mut conditions.trial);
            let changed = conditions.target != trouble || was_on_trial;
            conditions.target = trouble;
            changed
        });
    }

    /// Begins a trial: rows may be claimed, and one at a time is sent to the target that is in trouble.
    pub fn begin_trial(&self) {
        self.change(|conditions| !std::mem::replace(&mut conditions.trial, true));
    }

    /// Whether the target is being tried with one row at a time.
    pub fn is_on_trial(&self) -> bool {
        self.lock().trial
    }

    /// Whether the target is away or refuses us; true during a trial as well.
    pub fn has_target_trouble(&self) -> bool {
        self.lock().target.is_some()
    }

    /// Sets or clears the store's trouble.
    pub fn set_store(&self, trouble: Option<StoreTrouble>) {
        self.change(|conditions| {
            let changed = conditions.store != trouble;
            conditions.store = trouble;
            changed
        });
    }

    /// Sets or clears the reason why the database seems to refuse every outcome, and whether this closes the lane for
    /// claims.
    pub fn set_refused(&self, trouble: Option<(String, bool)>) {
        self.change(|conditions| {
            let changed = conditions.refused != trouble;
            conditions.refused = trouble;
            changed
        });
    }

    /// Sets or clears the reason why the external queue cannot be used.
    pub fn set_queue(&self, trouble: Option<String>) {
        self.change(|conditions| {
            let changed = conditions.queue != trouble;
            conditions.queue = trouble;
            changed
        });
    }

    /// Sets or clears the reason why the contract is probably wrong, which closes the lane for claims.
    pub fn set_contract(&self, trouble: Option<String>) {
        self.change(|conditions| {
            let changed = conditions.contract != trouble;
            conditions.contract = trouble;
            changed
        });
    }

    /// Whether the external queue is away.
    pub fn has_queue_trouble(&self) -> bool {
        self.lock().queue.is_some()
    }

    /// Sets or clears the reason why the lane is stalled.
    pub fn set_stalled(&self, reason: Option<String>) {
        self.change(|conditions| {
            let changed = conditions.stalled != reason;
            conditions.stalled = reason;
            changed
        });
    }

    /// Records until when rows of a claim without an answer may be leased; `None` once they are released.
    pub fn set_unanswered(&self, until: Option<Instant>) {
        *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner) = until;
    }

    /// Whether rows of a claim without an answer may be leased although no worker has them.
    pub fn has_unanswered(&self) -> bool {
        let until = *self.unanswered.lock().unwrap_or_else(PoisonError::into_inner);
        until.is_some_and(|until| until > Instant::now())
    }

    /// Whether rows may be claimed and delivered.
    pub fn is_open(&self) -> bool {
        self.open.load(Relaxed)
    }

    /// Waits until rows may not be delivered any more. Those that wait wake in the order in which they came; a `watch`
    /// wakes them in a random one, and a simulated run must hand back their rows in the same order each time.
    pub async fn closed(&self) {
        loop {
            let woken = self.woken.notified();
            if !self.is_open() {
                return;
            }
            woken.await;
        }
    }

    /// Subscribes to changes of any condition.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Returns the number of rows held, without the room reserved by claims in flight.
    pub fn held(&self) -> usize {
        let (held, reserved) = (&self.counters.held, &self.counters.reserved);
        let rows = held.load(Relaxed).saturating_sub(reserved.load(Relaxed));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    /// Combines the conditions into one health; what an operator must act on comes first.
    pub fn health(&self) -> Health {
        let conditions = self.lock();
        match conditions.phase {
            Phase::Draining => return Health::Draining,
            Phase::Stopped => return Health::Stopped,
            Phase::Starting | Phase::Running => {}
        }
        if let Some(reason) = &conditions.contract {
            return Health::Misconfigured { reason: reason.clone() };
        }
        match (&conditions.store, &conditions.target) {
            (Some(StoreTrouble::Misconfigured(reason)), _) | (_, Some(TargetTrouble::Refused(reason))) => {
                return Health::Misconfigured { reason: reason.clone() };
            }
            (Some(StoreTrouble::Unavailable(reason)), _) => {
                return Health::StoreUnavailable { reason: reason.clone() };
            }
            (None, _) if conditions.refused.is_some() => {
                let reason =
                    conditions.refused.as_ref().map(|(reason, _)| reason.clone()).unwrap_or_default();
                return Health::StoreUnavailable { reason };
            }
            (_, Some(TargetTrouble::Unreachable(reason))) => {
                return Health::Unreachable { reason: reason.clone() };
            }
            (None, None) => {}
        }
        if let Some(reason) = &conditions.stalled {
            return Health::Stalled { reason: reason.clone() };
        }
        match (conditions.phase, conditions.paused) {
            (Phase::Starting, _) => Health::Starting,
            (_, true) => Health::Paused,
            _ => match &conditions.queue {
                Some(reason) => Health::QueueUnavailable { reason: reason.clone() },
                None => Health::Running,
            },
        }
    }

    fn troubles(&self) -> (Option<String>, Option<String>) {
        let conditions = self.lock();
        let store = conditions.store.as_ref().map(|trouble| match trouble {
            StoreTrouble::Unavailable(reason) | StoreTrouble::Misconfigured(reason) => reason.clone(),
        });
        let store = store.or_else(|| conditions.refused.as_ref().map(|(reason, _)| reason.clone()));
        let target = conditions.target.as_ref().map(|trouble| match trouble {
            TargetTrouble::Unreachable(reason) | TargetTrouble::Refused(reason) => reason.clone(),
        });
        (store, target)
    }

    /// Returns a snapshot of health and counters.
    pub fn status(&self) -> LaneStatus {
        let counters = &self.counters;
        let (store_trouble, target_trouble) = self.troubles();
        LaneStatus {
            lane: self.name.clone(),
            contract: self.contract.clone(),
            stage: self.stage.clone(),
            health: self.health(),
            held: self.held() as u64,
            claimed: counters.claimed.load(Relaxed),
            delivered: counters.delivered.load(Relaxed),
            retried: counters.retried.load(Relaxed),
            failed: counters.failed.load(Relaxed),
            lost: counters.lost.load(Relaxed),
            reclaimed: counters.reclaimed.load(Relaxed),
            store_trouble,
            target_trouble,
            stuck_for: self.lock().stuck.map(|since| since.elapsed()),
        }
    }
}

#[cfg(test)]
mod tests;
