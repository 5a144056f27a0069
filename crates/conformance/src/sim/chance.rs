//! One source of chance for a whole run.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use postrider_seams::Dice;
use rand::rngs::StdRng;
use rand::{Rng as _, SeedableRng as _};

/// Seeded, shared by everything that has a choice.
pub struct Chance(Mutex<StdRng>);

impl Chance {
    pub fn new(seed: u64) -> Self {
        Self(Mutex::new(StdRng::seed_from_u64(seed)))
    }

    /// True once in `every` times.
    pub fn once_in(&self, every: u32) -> bool {
        self.below(every) == 0
    }

    pub fn below(&self, limit: u32) -> u32 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).random_range(0..limit)
    }

    /// Up to `most`, short times more often.
    pub fn wait(&self, most: Duration) -> Duration {
        let part = f64::from(self.below(1000)) / 1000.0;
        most.mul_f64(part * part * part)
    }
}

impl Dice for Chance {
    fn roll(&self) -> f64 {
        f64::from(self.below(2001)) / 1000.0 - 1.0
    }
}
