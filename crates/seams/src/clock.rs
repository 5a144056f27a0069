//! Time and chance for the engine. Databases keep their own time; this one only paces our own waiting.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

/// Where the engine's waiting and its dice come from.
#[async_trait]
pub trait Clock: Send + Sync {
    fn now(&self) -> Instant;
    async fn sleep(&self, duration: Duration);
    /// Uniform in -1..=1.
    fn chance(&self) -> f64;
}

/// Tokio's clock (which tests may pause) and the thread's generator.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

#[async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Instant {
        Instant::now()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }

    fn chance(&self) -> f64 {
        rand::random_range(-1.0..=1.0)
    }
}
