//! Chance for the engine. Waiting goes through tokio's clock, which tests pause; databases keep their own time; so
//! jitter is the one thing left that a replay must be able to fix.

/// Where jitter comes from.
pub trait Dice: Send + Sync {
    /// Uniform in -1..=1.
    fn roll(&self) -> f64;
}

/// The thread's own generator.
#[derive(Debug, Default, Clone, Copy)]
pub struct ThreadDice;

impl Dice for ThreadDice {
    fn roll(&self) -> f64 {
        rand::random_range(-1.0..=1.0)
    }
}
