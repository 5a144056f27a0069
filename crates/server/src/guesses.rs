//! Wrong keys, counted per address: after a few of them in a minute that address is answered 429, and its look-ups of keys
//! share a few places, so that guessing can't keep the database busy.
//!
//! Invariant: a right key always opens, whatever was sent before it: only wrong keys are counted, and a wrong key is
//! refused either way. Memory is bounded by [`ADDRESSES`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Duration, Instant};

use crate::api::Problem;

/// Wrong keys of one address in a [`WINDOW`].
const WRONG_KEYS: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);
/// Addresses that are remembered; those past them share one count.
const ADDRESSES: usize = 1_000;
/// Look-ups at once for all addresses that have used up their wrong keys.
const LOOKUPS: usize = 4;

/// Who asks, as [`network`] has it. None where there is no socket.
pub type Who = Option<IpAddr>;

/// Where a request came from.
pub fn who(extensions: &Extensions) -> Who {
    let ConnectInfo(address) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(network(address.ip()))
}

/// The address that limits count: an IPv6 address counts as its network (/64), which one host can have to itself.
pub fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

pub struct Guesses {
    wrong: Mutex<HashMap<Who, (Instant, u32)>>,
    lookups: Semaphore,
}

impl Default for Guesses {
    fn default() -> Self {
        Self { wrong: Mutex::default(), lookups: Semaphore::new(LOOKUPS) }
    }
}

impl Guesses {
    fn lock(&self) -> MutexGuard<'_, HashMap<Who, (Instant, u32)>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_over(&self, who: Who) -> bool {
        let wrong = self.lock();
        let counted = wrong.get(&who).or_else(|| wrong.get(&None).filter(|_| wrong.len() >= ADDRESSES));
        counted.is_some_and(|(since, count)| since.elapsed() < WINDOW && *count >= WRONG_KEYS)
    }

    /// To be held during the look-up of a key. Waits where this address has sent too many wrong ones. Cancel-safe.
    pub async fn look_up(&self, who: Who) -> Option<SemaphorePermit<'_>> {
        if !self.is_over(who) {
            return None;
        }
        self.lookups.acquire().await.ok()
    }

    /// Counts a wrong key. The answer is `refusal` while there are few, then 429.
    pub fn wrong(&self, who: Who, refusal: Problem) -> Problem {
        let over = self.is_over(who);
        let now = Instant::now();
        let mut wrong = self.lock();
        if wrong.len() >= ADDRESSES {
            wrong.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
        }
        let who = if wrong.len() < ADDRESSES || wrong.contains_key(&who) { who } else { None };
        let (since, count) = wrong.entry(who).or_insert((now, 0));
        if now.duration_since(*since) >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count == WRONG_KEYS {
            tracing::warn!(address = ?who, "many invalid API keys from one address within a minute");
        }
        if over { too_many() } else { refusal }
    }
}

fn too_many() -> Problem {
    Problem::new(
        StatusCode::TOO_MANY_REQUESTS,
        "too many invalid API keys from this address: wait a minute, or send a valid key",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(guesses: &Guesses, who: Who) -> u16 {
        guesses.wrong(who, Problem::unauthorized()).status().as_u16()
    }

    #[tokio::test(start_paused = true)]
    async fn ten_wrong_keys_of_one_address_hold_up_that_address_for_a_minute() {
        let guesses = Guesses::default();
        let one = Some(IpAddr::from([192, 0, 2, 1]));
        for _ in 0..WRONG_KEYS {
            assert!(guesses.look_up(one).await.is_none());
            assert_eq!(refused(&guesses, one), 401);
        }
        assert_eq!(refused(&guesses, one), 429);
        assert!(guesses.look_up(one).await.is_some(), "its look-ups share a few places");
        assert_eq!(refused(&guesses, Some(IpAddr::from([192, 0, 2, 2]))), 401);
        tokio::time::advance(WINDOW).await;
        assert_eq!(refused(&guesses, one), 401);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_remembered_is_bounded() {
        let guesses = Guesses::default();
        for number in 0..20_000u32 {
            refused(&guesses, Some(IpAddr::from(number.to_be_bytes())));
        }
        assert!(guesses.lock().len() <= ADDRESSES + 1, "{}", guesses.lock().len());
        assert_eq!(refused(&guesses, Some(IpAddr::from([203, 0, 113, 1]))), 429, "the rest shares one count");
    }
}
