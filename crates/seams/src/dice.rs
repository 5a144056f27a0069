//! The source of random jitter; a trait, so that the simulator can replay a run.

/// A source of jitter.
pub trait Dice: Send + Sync {
    /// Returns a number that is uniformly distributed in -1..=1.
    fn roll(&self) -> f64;
}

/// The thread's random number generator.
#[derive(Debug, Default, Clone, Copy)]
pub struct ThreadDice;

impl Dice for ThreadDice {
    fn roll(&self) -> f64 {
        rand::random_range(-1.0..=1.0)
    }
}
