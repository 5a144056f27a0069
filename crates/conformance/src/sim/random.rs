//! The only source of randomness of a run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postrider_seams::Dice;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// A seeded random generator, shared by all parts of a run.
pub struct SimRandom(Mutex<StdRng>);

impl SimRandom {
    /// Creates a generator; the same seed gives the same run.
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// Returns true once in `every` calls, on average.
    pub fn once_in(&self, every: u32) -> bool {
        self.below(every) == 0
    }

    /// Returns a number from 0 up to, but not including, `limit`.
    pub fn below(&self, limit: u32) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..limit)
    }

    /// Returns a random duration up to `max`; short ones are more frequent.
    pub fn wait(&self, max: Duration) -> Duration {
        let part = f64::from(self.below(1000)) / 1000.0;
        max.mul_f64(part * part * part)
    }
}

impl Dice for SimRandom {
    fn roll(&self) -> f64 {
        f64::from(self.below(2001)) / 1000.0 - 1.0
    }
}
