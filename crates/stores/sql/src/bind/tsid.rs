//! Generates time-sorted ids (TSID): 13 Crockford characters.
//!
//! An id has 42 bits of milliseconds since 2020, 10 random bits per process, and a 12-bit counter that starts at a
//! random number in the lower half. Invariant: each id is greater than the previous one, so a process never generates
//! the same id twice. Two processes may draw the same 10 bits; the random start of each millisecond's counter makes a
//! collision unlikely even then.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 2020-01-01T00:00:00Z.
const EPOCH: Duration = Duration::from_hours(438_288);
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Distinguishes processes that generate ids in the same millisecond.
static PROCESS: LazyLock<u64> = LazyLock::new(|| u64::from(rand::random::<u16>() & 1023));
static LAST: AtomicU64 = AtomicU64::new(0);

/// Returns a new id.
pub fn tsid() -> String {
    #[expect(clippy::disallowed_methods, reason = "the id only sorts by it; nothing falls due by this clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(EPOCH);
    let millis = u64::try_from(now.saturating_sub(EPOCH).as_millis()).unwrap_or(u64::MAX >> 22);
    let first = u64::from(rand::random::<u16>() & 2047);
    encode(after_last(millis << 22 | *PROCESS << 12 | first))
}

/// The bits that count within a millisecond.
const COUNT: u64 = 0xfff;

/// Returns the number, or the successor of the last id if the number is not greater.
fn after_last(number: u64) -> u64 {
    let next = |last: u64| number.max(following(last));
    let last = LAST.fetch_update(Relaxed, Relaxed, |last| Some(next(last)));
    next(last.unwrap_or_default())
}

/// Returns the next number; a millisecond whose counter is used up continues in the next one, and the bits of the
/// process stay.
pub(crate) fn following(last: u64) -> u64 {
    if last & COUNT == COUNT { ((last >> 22) + 1) << 22 | (last & (1023 << 12)) } else { last + 1 }
}

pub(crate) fn encode(number: u64) -> String {
    (0..13).rev().map(|place| char::from(ALPHABET[(number >> (place * 5) & 31) as usize])).collect()
}
