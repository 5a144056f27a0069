//! Retries transactions after a deadlock or serialization failure.

use crate::bind;

/// Maximum number of retries: on MySQL, where inserts lock gaps, a transaction can collide repeatedly.
const TRIES: u32 = 8;

/// Counts the retries of a transaction, and waits before each.
#[derive(Debug, Default)]
pub struct Patience {
    tried: u32,
}

impl Patience {
    /// Waits before another try; returns the error if it is no collision or there were too many tries.
    pub async fn wait<E>(&mut self, cause: E, is_collision: fn(&E) -> bool) -> Result<(), E> {
        if !is_collision(&cause) || self.tried >= TRIES {
            return Err(cause);
        }
        tokio::time::sleep(bind::collision_pause(self.tried)).await;
        self.tried += 1;
        Ok(())
    }
}
