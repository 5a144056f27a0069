//! Retries a call after a deadlock, a serialization failure or a lock of another process.

use std::time::Duration;

use postrider_seams::store::Error;
use tokio::time::Instant;

use super::Driver;
use super::errors::DriverErrors as _;

/// The limit after which a call that keeps colliding is given up.
#[derive(Debug, Clone, Copy)]
pub enum Retries {
    /// After this number of retries.
    Times(u32),
    /// After this time.
    Within(Duration),
}

impl Retries {
    /// The retries of a server: on MySQL, where inserts lock gaps, a transaction can collide repeatedly.
    pub const OF_SERVERS: Self = Self::Times(8);
}

/// The retries of one call, with a wait before each.
pub struct Retry<'a, D> {
    driver: &'a D,
    doing: &'a str,
    retried: u32,
    started: Instant,
}

impl<'a, D: Driver> Retry<'a, D> {
    /// Starts a call; `doing` completes "could not …" in error messages.
    pub fn new(driver: &'a D, doing: &'a str) -> Self {
        Self { driver, doing, retried: 0, started: Instant::now() }
    }

    /// Waits before another try; returns the error if it is no collision, or there were enough tries, or the call has
    /// lasted for its deadline: a collision may be a lock wait of seconds.
    pub async fn wait(&mut self, cause: D::Error) -> Result<(), Error> {
        let over = match self.driver.retries() {
            Retries::Times(most) => self.retried >= most || self.started.elapsed() >= self.driver.deadline(),
            Retries::Within(most) => self.started.elapsed() >= most,
        };
        if over || !D::Errors::is_collision(&cause) {
            return Err(self.driver.error(self.doing, cause));
        }
        tokio::time::sleep(pause(self.retried)).await;
        self.retried += 1;
        Ok(())
    }
}

/// Returns how long to wait before the next try.
///
/// The wait is short (at most 640 ms) and random, so that the two transactions do not collide again.
fn pause(retried: u32) -> Duration {
    let most = 10u64 << retried.min(6);
    Duration::from_millis(rand::random_range(1..=most))
}
