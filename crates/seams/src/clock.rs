//! How far a store's clock is from this machine's. The store's decides what is written; whoever needs the time outside of
//! a statement (the date of a signature) corrects this machine's by it.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// Whole seconds that the store's clock is ahead; negative if it is behind. 0 until it is measured.
#[derive(Debug, Default)]
pub struct ClockOffset(AtomicI64);

impl ClockOffset {
    pub fn seconds(&self) -> i64 {
        self.0.load(Relaxed)
    }

    pub fn set(&self, seconds: i64) {
        self.0.store(seconds, Relaxed);
    }
}
