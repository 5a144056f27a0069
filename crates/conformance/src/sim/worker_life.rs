//! The life of a simulated worker: it can be killed, or freeze (a paused machine, a cut network) and come back.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

pub(crate) struct WorkerLife {
    alive: AtomicBool,
    frozen_until: Mutex<Instant>,
}

impl WorkerLife {
    /// Creates a living worker.
    pub fn new() -> Self {
        Self { alive: AtomicBool::new(true), frozen_until: Mutex::new(Instant::now()) }
    }

    /// Whether the worker has not been killed.
    pub fn is_alive(&self) -> bool {
        self.alive.load(Relaxed)
    }

    /// Whether the worker was neither killed nor frozen since then.
    pub fn was_running_since(&self, since: Instant) -> bool {
        let frozen = *self.frozen_until.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_alive() && frozen < since
    }

    /// Kills the worker: its calls never return again.
    pub fn kill(&self) {
        self.alive.store(false, Relaxed);
    }

    /// Freezes the worker: for this long none of its requests and no answer to it arrives.
    pub fn freeze(&self, time: Duration) {
        *self.frozen_until.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now() + time;
    }

    /// Waits for one way through the network. A dead worker's calls never return.
    pub async fn network_delay(&self, time: Duration) {
        tokio::time::sleep(time).await;
        let until = *self.frozen_until.lock().unwrap_or_else(PoisonError::into_inner);
        tokio::time::sleep_until(until).await;
        if !self.is_alive() {
            std::future::pending::<()>().await;
        }
    }
}
