//! How often somebody may try to sign in: a key can't be guessed, but each try costs the database a look.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};

use tokio::time::{Duration, Instant};

/// Failed tries of one address in a [`WINDOW`].
const TRIES: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);
/// Addresses that are remembered; past them all share what is left.
const ADDRESSES: usize = 1_000;

/// Who tries: no address where there is no socket.
pub type Who = Option<IpAddr>;

#[derive(Debug, Default)]
pub struct Attempts(Mutex<HashMap<Who, (Instant, u32)>>);

impl Attempts {
    /// Takes a try; false where none is left. One that succeeds is given back with [`Attempts::forgive`].
    pub fn take(&self, who: Who) -> bool {
        let now = Instant::now();
        let mut tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        tries.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
        let who = if tries.len() < ADDRESSES || tries.contains_key(&who) { who } else { None };
        let (_, taken) = tries.entry(who).or_insert((now, 0));
        let left = *taken < TRIES;
        *taken += u32::from(left);
        left
    }

    pub fn forgive(&self, who: Who) {
        let mut tries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, taken)) = tries.get_mut(&who) {
            *taken = taken.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn ten_failures_of_one_address_hold_up_that_address_for_a_minute() {
        let attempts = Attempts::default();
        let one = Some(IpAddr::from([192, 0, 2, 1]));
        for _ in 0..100 {
            assert!(attempts.take(one));
            attempts.forgive(one);
        }
        for _ in 0..TRIES {
            assert!(attempts.take(one));
        }
        assert!(!attempts.take(one));
        assert!(attempts.take(Some(IpAddr::from([192, 0, 2, 2]))));
        tokio::time::advance(WINDOW).await;
        assert!(attempts.take(one));
    }
}
