//! Wakes the lanes of this process as soon as something in it has made rows of their table ready.
//!
//! Owns: which lanes wait on which table. Must not: read a table. Invariant: rows that are committed before
//! [`WakeUps::wake`] end the lane's current wait or its next one; any number of wake-ups before that wait count as one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use tokio::sync::Notify;

/// The lanes of this process on one database, by table. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct WakeUps(Arc<Mutex<HashMap<String, Vec<Weak<Notify>>>>>);

/// The wake-ups of one lane, kept until it waits.
#[derive(Debug)]
pub struct WakeUp(Arc<Notify>);

impl WakeUps {
    fn tables(&self) -> MutexGuard<'_, HashMap<String, Vec<Weak<Notify>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a lane on this table, for as long as the result lives. Tables of one name in several schemas are not
    /// distinguished: a wake-up too many costs one claim.
    pub fn subscribe(&self, table: &str) -> WakeUp {
        let lane = Arc::new(Notify::new());
        let mut tables = self.tables();
        let lanes = tables.entry(table.to_owned()).or_default();
        lanes.retain(|lane| lane.strong_count() > 0);
        lanes.push(Arc::downgrade(&lane));
        WakeUp(lane)
    }

    /// Wakes every lane on this table. To be called after the commit that made rows ready.
    pub fn wake(&self, table: &str) {
        self.wake_where(table, |_| true);
    }

    /// Wakes every lane on this table but one: the lane that has moved rows on to another stage.
    pub fn wake_others(&self, table: &str, lane: &WakeUp) {
        self.wake_where(table, |other| !Arc::ptr_eq(other, &lane.0));
    }

    fn wake_where(&self, table: &str, wanted: impl Fn(&Arc<Notify>) -> bool) {
        if let Some(lanes) = self.tables().get(table) {
            lanes.iter().filter_map(Weak::upgrade).filter(wanted).for_each(|lane| lane.notify_one());
        }
    }
}

impl WakeUp {
    /// Wakes this lane alone.
    pub fn wake(&self) {
        self.0.notify_one();
    }

    /// Waits for the next wake-up; one since the last wait counts. Cancel-safe.
    pub async fn woken(&self) {
        self.0.notified().await;
    }

    /// Returns a handle that wakes this lane, for a task that outlives a borrow.
    #[must_use]
    pub fn handle(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn is_woken(lane: &WakeUp) -> bool {
        tokio::time::timeout(Duration::from_secs(1), lane.woken()).await.is_ok()
    }

    #[tokio::test(start_paused = true)]
    async fn a_wake_up_reaches_every_lane_on_its_table_once() {
        let wake_ups = WakeUps::default();
        let (one, two, other) =
            (wake_ups.subscribe("jobs"), wake_ups.subscribe("jobs"), wake_ups.subscribe("mails"));
        for _ in 0..3 {
            wake_ups.clone().wake("jobs");
        }
        assert!(is_woken(&one).await && is_woken(&two).await, "also if it came before the wait");
        assert!(!is_woken(&one).await, "several count as one");
        assert!(!is_woken(&other).await, "another table");
        wake_ups.wake_others("jobs", &one);
        assert!(is_woken(&two).await && !is_woken(&one).await, "not the lane itself");
        wake_ups.wake("unknown");
    }

    #[tokio::test(start_paused = true)]
    async fn lanes_that_ended_are_forgotten() {
        let wake_ups = WakeUps::default();
        drop(wake_ups.subscribe("jobs"));
        let lane = wake_ups.subscribe("jobs");
        assert_eq!(wake_ups.tables()["jobs"].len(), 1);
        let handle = lane.handle();
        handle.wake();
        assert!(is_woken(&lane).await);
    }
}
