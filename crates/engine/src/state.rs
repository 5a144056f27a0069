//! What a lane knows of itself: counters, and the conditions that its health is made of.
//!
//! Each part of the loop reports only its own condition here; [`LaneState::health`] is the one place that weighs them.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;
use tokio::time::Instant;

use crate::status::{Health, LaneStatus};

/// How far the lane is in its own life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Phase {
    Starting,
    Running,
    Draining,
    Stopped,
}

/// Why the target is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TargetTrouble {
    Unreachable(String),
    Refused(String),
}

/// Why the store is left alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum StoreTrouble {
    Away(String),
    Misconfigured(String),
}

#[derive(Debug)]
struct Conditions {
    phase: Phase,
    paused: bool,
    target: Option<TargetTrouble>,
    /// The target is in trouble, but one row at a time is tried.
    trial: bool,
    store: Option<StoreTrouble>,
    queue: Option<String>,
    stalled: Option<String>,
    /// Since when the lane is stalled, or its store away, without a break.
    stuck: Option<Instant>,
}

impl Conditions {
    fn note_stuck(&mut self) {
        let is_stuck = self.stalled.is_some() || matches!(self.store, Some(StoreTrouble::Away(_)));
        self.stuck = if is_stuck { self.stuck.or_else(|| Some(Instant::now())) } else { None };
    }
}

/// Counters since the start of the process.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    /// With what claims under way may bring.
    pub held: AtomicU64,
    /// Room that claims under way have taken.
    pub reserved: AtomicU64,
    pub claimed: AtomicU64,
    pub delivered: AtomicU64,
    pub retried: AtomicU64,
    pub failed: AtomicU64,
    pub lost: AtomicU64,
    pub reclaimed: AtomicU64,
}

#[derive(Debug)]
pub(crate) struct LaneState {
    pub name: String,
    contract: String,
    stage: String,
    pub counters: Counters,
    /// Claiming may go on. Read on every turn of the loop, so kept beside the lock.
    open: AtomicBool,
    conditions: Mutex<Conditions>,
    /// Ticks whenever a condition changes; parts of the loop that wait for one subscribe.
    changed: watch::Sender<u64>,
}

impl LaneState {
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
                queue: None,
                stalled: None,
                stuck: None,
            }),
            changed: watch::Sender::new(0),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Conditions> {
        // Conditions are plain values: a panic elsewhere can't have left them half written.
        self.conditions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut Conditions) -> bool) {
        let mut conditions = self.lock();
        if change(&mut conditions) {
            conditions.note_stuck();
            let target_is_open = conditions.target.is_none() || conditions.trial;
            let open = conditions.phase == Phase::Running && !conditions.paused && target_is_open;
            self.open.store(open, Relaxed);
            drop(conditions);
            self.changed.send_modify(|tick| *tick += 1);
        }
    }

    pub fn set_phase(&self, phase: Phase) {
        self.change(|conditions| std::mem::replace(&mut conditions.phase, phase) != phase);
    }

    pub fn phase(&self) -> Phase {
        self.lock().phase
    }

    pub fn set_paused(&self, paused: bool) {
        self.change(|conditions| std::mem::replace(&mut conditions.paused, paused) != paused);
    }

    /// Ends a trial as well.
    pub fn set_target(&self, trouble: Option<TargetTrouble>) {
        self.change(|conditions| {
            let was_on_trial = std::mem::take(&mut conditions.trial);
            let changed = conditions.target != trouble || was_on_trial;
            conditions.target = trouble;
            changed
        });
    }

    /// Rows may be claimed, and one at a time is sent to the target that is in trouble.
    pub fn begin_trial(&self) {
        self.change(|conditions| !std::mem::replace(&mut conditions.trial, true));
    }

    pub fn is_on_trial(&self) -> bool {
        self.lock().trial
    }

    pub fn has_target_trouble(&self) -> bool {
        self.lock().target.is_some()
    }

    pub fn set_store(&self, trouble: Option<StoreTrouble>) {
        self.change(|conditions| {
            let changed = conditions.store != trouble;
            conditions.store = trouble;
            changed
        });
    }

    pub fn set_queue(&self, trouble: Option<String>) {
        self.change(|conditions| {
            let changed = conditions.queue != trouble;
            conditions.queue = trouble;
            changed
        });
    }

    pub fn has_queue_trouble(&self) -> bool {
        self.lock().queue.is_some()
    }

    pub fn set_stalled(&self, reason: Option<String>) {
        self.change(|conditions| {
            let changed = conditions.stalled != reason;
            conditions.stalled = reason;
            changed
        });
    }

    /// May rows be claimed and delivered?
    pub fn is_open(&self) -> bool {
        self.open.load(Relaxed)
    }

    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// Rows in hand, without the room that claims under way have taken.
    pub fn held(&self) -> usize {
        let (held, reserved) = (&self.counters.held, &self.counters.reserved);
        let rows = held.load(Relaxed).saturating_sub(reserved.load(Relaxed));
        usize::try_from(rows).unwrap_or(usize::MAX)
    }

    /// The one place that weighs the conditions: what an operator must act on comes first.
    pub fn health(&self) -> Health {
        let conditions = self.lock();
        match conditions.phase {
            Phase::Draining => return Health::Draining,
            Phase::Stopped => return Health::Stopped,
            Phase::Starting | Phase::Running => {}
        }
        match (&conditions.store, &conditions.target) {
            (Some(StoreTrouble::Misconfigured(reason)), _) | (_, Some(TargetTrouble::Refused(reason))) => {
                return Health::Misconfigured { reason: reason.clone() };
            }
            (Some(StoreTrouble::Away(reason)), _) => return Health::StoreAway { reason: reason.clone() },
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
                Some(reason) => Health::QueueAway { reason: reason.clone() },
                None => Health::Running,
            },
        }
    }

    fn troubles(&self) -> (Option<String>, Option<String>) {
        let conditions = self.lock();
        let store = conditions.store.as_ref().map(|trouble| match trouble {
            StoreTrouble::Away(reason) | StoreTrouble::Misconfigured(reason) => reason.clone(),
        });
        let target = conditions.target.as_ref().map(|trouble| match trouble {
            TargetTrouble::Unreachable(reason) | TargetTrouble::Refused(reason) => reason.clone(),
        });
        (store, target)
    }

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
