//! What a crash costs a row. Pure: every store asks this one function.
//!
//! A row is *begun* when it is about to be handed to the transport. Only begun rows are counted when their worker dies;
//! rows that were merely held come back at no cost. Crashes are counted apart from attempts: after
//! [`SUSPECT_CRASHES`] in a row the row is the *suspect* and is delivered alone, so that only it can end dead by
//! crashes. A delivery that completes clears the count.

use crate::Stage;

/// A row that was begun at so many crashes in a row is a suspect: it is delivered alone.
pub const SUSPECT_CRASHES: u32 = 2;

/// What the error column of a row says that its crashes ended.
pub const CRASHED: &str =
    "poison: its workers died several times while they delivered it, the last times alone";

/// What becomes of a begun row whose worker is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Crash {
    /// It spends an attempt, or is noted where the contract notes take-overs.
    Charged,
    /// It has one attempt left: a crash never spends the last one.
    Spared,
    /// A suspect that has killed its worker too often.
    Dead,
}

impl Crash {
    /// `crashes` were counted before this one. `last`: by the row's own counters this charge would end it. `limit`: the
    /// attempts that the row may have.
    pub fn of(stage: &Stage, crashes: u32, last: bool, limit: u32) -> Self {
        let is_suspect = crashes >= SUSPECT_CRASHES;
        let is_last_crash = if stage.lease.spend {
            crashes + 1 >= limit.max(SUSPECT_CRASHES + 1)
        } else {
            last && stage.lease.poison.is_some()
        };
        if is_suspect && is_last_crash {
            Self::Dead
        } else if last && stage.lease.spend {
            Self::Spared
        } else {
            Self::Charged
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Contract;

    fn stage(contract: &str) -> Stage {
        let text = Contract::builtin(contract).expect("a built-in");
        Contract::parse(contract, text).expect("a sound contract").stages[0].clone()
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
        assert_eq!(Crash::of(&mail, 3, true, 5), Crash::Spared);
        assert_eq!(Crash::of(&mail, 4, true, 5), Crash::Dead);
        assert_eq!(Crash::of(&mail, 2, true, 1), Crash::Dead, "three at least");
    }

    #[test]
    fn n13_takeovers_end_a_suspect_alone() {
        let notify = stage("open_event_notifications");
        assert_eq!(Crash::of(&notify, 3, false, 5), Crash::Charged);
        assert_eq!(Crash::of(&notify, 4, true, 5), Crash::Dead);
        assert_eq!(
            Crash::of(&notify, 1, true, 5),
            Crash::Charged,
            "never while others are in flight with it"
        );
    }
}
