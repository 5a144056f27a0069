//! Time-sorted ids: 42 bits of milliseconds since 2020, 10 bits of the process, 12 bits that count from somewhere in the
//! lower half, as 13 Crockford characters. Each is greater than the one before, so a process never makes the same twice.
//! Two processes may have drawn the same 10 bits: that each millisecond's count begins elsewhere keeps them apart as well.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 2020-01-01T00:00:00Z.
const EPOCH: Duration = Duration::from_hours(438_288);
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// Tells processes apart that make ids in the same millisecond.
static PROCESS: LazyLock<u64> = LazyLock::new(|| u64::from(rand::random::<u16>() & 1023));
static LAST: AtomicU64 = AtomicU64::new(0);

/// A fresh id.
pub fn tsid() -> String {
    #[expect(clippy::disallowed_methods, reason = "the id only sorts by it; nothing falls due by this clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(EPOCH);
    let millis = u64::try_from(now.saturating_sub(EPOCH).as_millis()).unwrap_or(u64::MAX >> 22);
    let first = u64::from(rand::random::<u16>() & 2047);
    encode(after_last(millis << 22 | *PROCESS << 12 | first))
}

/// The bits that count within a millisecond.
const COUNT: u64 = 0xfff;

/// The number itself, or the next after the last where that is not greater.
fn after_last(number: u64) -> u64 {
    let next = |last: u64| number.max(following(last));
    let last = LAST.fetch_update(Relaxed, Relaxed, |last| Some(next(last)));
    next(last.unwrap_or_default())
}

/// A millisecond whose count is used up runs into the next one; the bits of the process stay as they are.
pub(super) fn following(last: u64) -> u64 {
    if last & COUNT == COUNT { ((last >> 22) + 1) << 22 | (last & (1023 << 12)) } else { last + 1 }
}

pub(super) fn encode(number: u64) -> String {
    (0..13).rev().map(|place| char::from(ALPHABET[(number >> (place * 5) & 31) as usize])).collect()
}
