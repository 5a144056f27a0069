//! Limits guessing of keys: counts wrong keys per address. After a few in a minute the address gets 429, and its key
//! lookups share a few slots, so that guessing cannot keep the database busy.
//!
//! Invariant: a valid key is always accepted, regardless of earlier requests: only wrong keys are counted, and a wrong
//! key is refused in any case. Memory is bounded by [`ADDRESSES`].

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};

use axum::extract::ConnectInfo;
use axum::http::{Extensions, StatusCode};
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Duration, Instant};

use crate::api::Problem;

/// Wrong keys of one address per [`WINDOW`].
const WRONG_KEYS: u32 = 10;
const WINDOW: Duration = Duration::from_mins(1);
/// Maximum number of counted addresses; further ones share one count.
const ADDRESSES: usize = 1_000;
/// Concurrent lookups of all addresses that have used up their wrong keys.
const LOOKUPS: usize = 4;

/// The address of a client, as [`counted_address`] returns it. `None` without a socket.
pub type ClientAddress = Option<IpAddr>;

/// Returns the address of the client that sent a request.
pub fn client_address(extensions: &Extensions) -> ClientAddress {
    let ConnectInfo(address) = extensions.get::<ConnectInfo<SocketAddr>>()?;
    Some(counted_address(address.ip()))
}

/// Returns the address that limits count: for IPv6 its /64 network, because one host can have a whole one.
pub fn counted_address(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

/// The wrong keys per address.
pub struct GuessLimit {
    wrong: Mutex<HashMap<ClientAddress, (Instant, u32)>>,
    lookups: Semaphore,
}

impl Default for GuessLimit {
    fn default() -> Self {
        Self { wrong: Mutex::default(), lookups: Semaphore::new(LOOKUPS) }
    }
}

impl GuessLimit {
    fn lock(&self) -> MutexGuard<'_, HashMap<ClientAddress, (Instant, u32)>> {
        self.wrong.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_exceeded(&self, address: ClientAddress) -> bool {
        let wrong = self.lock();
        let counted = wrong.get(&address).or_else(|| wrong.get(&None).filter(|_| wrong.len() >= ADDRESSES));
        counted.is_some_and(|(since, count)| since.elapsed() < WINDOW && *count >= WRONG_KEYS)
    }

    /// Returns the permit to hold during a key lookup; waits if this address sent too many wrong ones. Cancel-safe.
    pub async fn acquire_lookup(&self, address: ClientAddress) -> Option<SemaphorePermit<'_>> {
        if !self.is_exceeded(address) {
            return None;
        }
        self.lookups.acquire().await.ok()
    }

    /// Counts a wrong key. Returns `refusal` while there are few, then 429.
    pub fn count_wrong_key(&self, address: ClientAddress, refusal: Problem) -> Problem {
        let over = self.is_exceeded(address);
        let now = Instant::now();
        let mut wrong = self.lock();
        if wrong.len() >= ADDRESSES {
            wrong.retain(|_, (since, _)| now.duration_since(*since) < WINDOW);
        }
        let address = if wrong.len() < ADDRESSES || wrong.contains_key(&address) { address } else { None };
        let (since, count) = wrong.entry(address).or_insert((now, 0));
        if now.duration_since(*since) >= WINDOW {
            (*since, *count) = (now, 0);
        }
        *count = count.saturating_add(1);
        if *count == WRONG_KEYS {
            tracing::warn!(address = ?address, "many invalid API keys from one address within a minute");
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

    fn refused(guess_limit: &GuessLimit, address: ClientAddress) -> u16 {
        guess_limit.count_wrong_key(address, Problem::unauthorized()).status().as_u16()
    }

    #[tokio::test(start_paused = true)]
    async fn ten_wrong_keys_limit_their_address_for_a_minute() {
        let guess_limit = GuessLimit::default();
        let one = Some(IpAddr::from([192, 0, 2, 1]));
        for _ in 0..WRONG_KEYS {
            assert!(guess_limit.acquire_lookup(one).await.is_none());
            assert_eq!(refused(&guess_limit, one), 401);
        }
        assert_eq!(refused(&guess_limit, one), 429);
        assert!(guess_limit.acquire_lookup(one).await.is_some(), "its look-ups share a few places");
        assert_eq!(refused(&guess_limit, Some(IpAddr::from([192, 0, 2, 2]))), 401);
        tokio::time::advance(WINDOW).await;
        assert_eq!(refused(&guess_limit, one), 401);
    }

    #[tokio::test(start_paused = true)]
    async fn memory_is_bounded() {
        let guess_limit = GuessLimit::default();
        for number in 0..20_000u32 {
            refused(&guess_limit, Some(IpAddr::from(number.to_be_bytes())));
        }
        assert!(guess_limit.lock().len() <= ADDRESSES + 1, "{}", guess_limit.lock().len());
        assert_eq!(
            refused(&guess_limit, Some(IpAddr::from([203, 0, 113, 1]))),
            429,
            "the rest shares one count"
        );
    }
}
