//! Patience with transactions that collide.

use crate::bind;

/// How often a transaction that collided runs again: on MySQL, where inserts lock gaps, it happens more than once.
const TRIES: u32 = 8;

/// Goes on while a transaction collides with another, as often as is sensible.
#[derive(Debug, Default)]
pub struct Patience {
    tried: u32,
}

impl Patience {
    /// Waits before another try, or gives back the failure that ends them.
    pub async fn wait<E>(&mut self, cause: E, is_collision: fn(&E) -> bool) -> Result<(), E> {
        if !is_collision(&cause) || self.tried >= TRIES {
            return Err(cause);
        }
        tokio::time::sleep(bind::collision_pause(self.tried)).await;
        self.tried += 1;
        Ok(())
    }
}
