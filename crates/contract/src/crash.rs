//! Decides what happens to a row whose worker crashed: it is retried, released or dead. Pure functions that all stores
//! share.
//!
//! A row is *begun* when it is about to be handed to the transport. Only begun rows are counted when their worker dies;
//! rows that were merely held come back at no cost. Crashes are counted apart from attempts: after
//! [`SUSPECT_CRASHES`] in a row the row is the *suspect* and is delivered alone, so that only it can end dead by
//! crashes. Before each attempt alone it waits, twice as long after each crash: workers that an operator or the kernel kills
//! several times within minutes cannot end a healthy row. A delivery that completes clears the count.

use std::time::Duration;

use crate::Stage;

/// The number of consecutive crashes after which a row is a suspect and is delivered alone.
pub const SUSPECT_CRASHES: u32 = 2;

/// The smallest number of consecutive crashes after which a row may end dead.
pub const LEAST_CRASHES: u32 = 7;

/// Time that a new suspect waits after its last crash; each further crash doubles it.
const MIN_RETRY_DELAY: Duration = Duration::from_secs(15);

const MAX_RETRY_DELAY: Duration = Duration::from_hours(1);

/// Microseconds by which a crash time may be ahead of the clock and still count. A clock that was set back must not
/// hold back a row forever.
const MOST_AHEAD: i64 = 60_000_000;

/// The error text of a row that ended dead because of its crashes.
pub const CRASHED: &str = "poison row: its workers crashed repeatedly, also when it was delivered alone";

/// The consequence for a row whose worker died while delivering it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// It costs an attempt, or is counted as a take-over where the contract counts those.
    Charged,
    /// It costs nothing because one attempt is left: a crash never uses up the last one.
    Spared,
    /// The row is a suspect whose worker crashed too often.
    Dead,
}

impl Crash {
    /// Returns the consequence of one more crash. `crashes` does not include it. `last`: by the row's own counters this
    /// charge would end it. `limit`: the row's maximum number of attempts.
    pub fn of(stage: &Stage, crashes: u32, last: bool, limit: u32) -> Self {
        let may_end = if stage.lease.spend {
            crashes.saturating_add(1) >= limit
        } else {
            last && stage.lease.poison.is_some()
        };
        if may_end && crashes.saturating_add(1) >= LEAST_CRASHES {
            Self::Dead
        } else if last && stage.lease.spend {
            Self::Spared
        } else {
            Self::Charged
        }
    }
}

/// Returns how long a row still waits before its next attempt: zero unless it is a suspect. `since` is the number of
/// microseconds since its last crash, by the database's clock.
pub fn wait_after_crashes(crashes: u32, since: i64) -> Duration {
    if crashes < SUSPECT_CRASHES || since < -MOST_AHEAD {
        return Duration::ZERO;
    }
    let doubled = 2u32.checked_pow(crashes - SUSPECT_CRASHES);
    let wait = doubled
        .and_then(|times| MIN_RETRY_DELAY.checked_mul(times))
        .unwrap_or(MAX_RETRY_DELAY)
        .min(MAX_RETRY_DELAY);
    wait.saturating_sub(Duration::from_micros(u64::try_from(since).unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contract;

    fn stage(contract: &str) -> Stage {
        let text = Contract::builtin(contract).expect("a built-in");
        Contract::parse(contract, text).expect("a valid contract").stages[0].clone()
    }

    #[test]
    fn m07_a_crash_never_spends_the_last_attempt() {
        let mail = stage("mail_outbox");
        assert_eq!(Crash::of(&mail, 0, false, 5), Crash::Charged);
        assert_eq!(Crash::of(&mail, 0, true, 5), Crash::Spared);
        assert_eq!(Crash::of(&mail, 1, true, 1), Crash::Spared, "not yet a suspect");
    }

    #[test]
    fn m07_only_a_suspect_ends_dead_and_after_its_limit() {
        let mail = stage("mail_outbox");
        for (limit, dies_at) in [(1, 7), (3, 7), (5, 7), (7, 7), (9, 9)] {
            for crash in 1..dies_at {
                assert_eq!(Crash::of(&mail, crash - 1, true, limit), Crash::Spared, "{crash} of {limit}");
            }
            assert_eq!(Crash::of(&mail, dies_at - 1, true, limit), Crash::Dead, "limit {limit}");
        }
    }

    #[test]
    fn m07_a_suspect_waits_twice_as_long_after_each_crash() {
        let secs = |crashes| wait_after_crashes(crashes, 0).as_secs();
        assert_eq!([0, 1, 2, 3, 4, 5, 6].map(secs), [0, 0, 15, 30, 60, 120, 240]);
        assert_eq!([9, 10, 11, 40, u32::MAX].map(secs), [1920, 3600, 3600, 3600, 3600]);
        assert_eq!(wait_after_crashes(3, 12_000_000), Duration::from_secs(18), "the rest of it");
        assert_eq!(wait_after_crashes(3, 30_000_000), Duration::ZERO);
        assert_eq!(wait_after_crashes(2, -1_000_000), Duration::from_secs(15), "clocks differ by a second");
        assert_eq!(wait_after_crashes(2, i64::MIN), Duration::ZERO, "a crash of the future is not followed");
    }

    /// The shortest time in which crashes can end a row is the sum of all waits before its attempts alone.
    #[test]
    fn m07_kills_within_minutes_cannot_end_a_row() {
        let waits: Duration = (0..LEAST_CRASHES).map(|crashes| wait_after_crashes(crashes, 0)).sum();
        assert!(waits >= Duration::from_mins(7), "{waits:?}");
    }

    #[test]
    fn n13_takeovers_end_a_suspect_alone() {
        let notify = stage("open_event_notifications");
        assert_eq!(
            Crash::of(&notify, 4, true, 5),
            Crash::Charged,
            "five take-overs are noted, but too few crashes"
        );
        assert_eq!(Crash::of(&notify, 6, true, 5), Crash::Dead);
        assert_eq!(Crash::of(&notify, 6, false, 5), Crash::Charged, "too few take-overs are noted");
    }
}
