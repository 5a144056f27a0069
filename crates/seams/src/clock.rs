//! The offset between a store's clock and this machine's. The store's clock decides what is written; code that needs
//! the time outside of a statement (the date of a signature) corrects this machine's clock by the offset.

use std::sync::atomic::{AtomicI64, Ordering::Relaxed};

/// The seconds by which the store's clock is ahead; negative if it is behind, 0 until it is measured.
#[derive(Debug, Default)]
pub struct ClockOffset(AtomicI64);

impl ClockOffset {
    /// Returns the offset in whole seconds.
    pub fn seconds(&self) -> i64 {
        self.0.load(Relaxed)
    }

    /// Stores a measured offset, in whole seconds.
    pub fn set(&self, seconds: i64) {
        self.0.store(seconds, Relaxed);
    }
}
