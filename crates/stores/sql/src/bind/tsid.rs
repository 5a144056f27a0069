//! Time-sorted ids: 42 bits of milliseconds since 2020, 22 bits of chance, as 13 Crockford characters.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// 2020-01-01T00:00:00Z.
const EPOCH: Duration = Duration::from_hours(438_288);
const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// A fresh id.
pub fn tsid() -> String {
    #[expect(clippy::disallowed_methods, reason = "the id only sorts by it; nothing falls due by this clock")]
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(EPOCH);
    let millis = u64::try_from(now.saturating_sub(EPOCH).as_millis()).unwrap_or(u64::MAX);
    encode(millis << 22 | u64::from(rand::random::<u32>() >> 10))
}

pub(super) fn encode(number: u64) -> String {
    (0..13).rev().map(|place| char::from(ALPHABET[(number >> (place * 5) & 31) as usize])).collect()
}
