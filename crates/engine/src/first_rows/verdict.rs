//! Judges a contract by the outcomes of its first rows. Pure.

/// Rows after which the contract is judged.
const ENOUGH: u32 = 20;
/// The share of rejections, in percent, from which it is bad.
const BAD_PERCENT: u32 = 80;
/// The fewest rows that suffice if all of them were rejected and no other follows.
const FEWEST: u32 = 10;

/// The outcomes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Tally {
    /// Rows that were composed, or could not be. Those that can be have no outcome yet while they are sent: a rejection
    /// by the composer is always earlier.
    composed: u32,
    rejected: u32,
    others: u32,
}

/// What the outcomes say about the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    /// There are too few rows.
    Open,
    Good,
    /// Most rows were rejected.
    Bad,
}

impl Tally {
    /// Counts rows that go through the composer, whatever it makes of them.
    pub fn composed(&mut self, rows: usize) {
        self.composed = self.composed.saturating_add(u32::try_from(rows).unwrap_or(u32::MAX));
    }

    /// Counts a row that the composer or the target rejected.
    pub fn rejected(&mut self) {
        self.rejected = self.rejected.saturating_add(1);
    }

    /// Counts a row that was delivered, or failed in a way that the contract cannot cause.
    pub fn other(&mut self) {
        self.others = self.others.saturating_add(1);
    }

    /// Returns the number of rejected rows.
    pub fn rejections(&self) -> u32 {
        self.rejected
    }

    /// Returns the number of all rows, those on their way to the target included.
    pub fn rows(&self) -> u32 {
        self.composed.max(self.rejected.saturating_add(self.others))
    }

    /// Judges the contract. `pause`: no further row came for a while.
    pub fn verdict(&self, pause: bool) -> Verdict {
        let (rejected, rows) = (self.rejected, self.rows());
        let ended = rejected.saturating_add(self.others);
        let is_bad = |of: u32| u64::from(rejected) * 100 >= u64::from(of) * u64::from(BAD_PERCENT);
        if rows >= ENOUGH && is_bad(rows) {
            Verdict::Bad
        } else if ended >= ENOUGH && !is_bad(ended) {
            Verdict::Good
        } else if pause && rejected == rows && rows >= FEWEST {
            Verdict::Bad
        } else {
            Verdict::Open
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(rejected: u32, others: u32) -> Tally {
        let mut tally = Tally::default();
        (0..rejected).for_each(|_| tally.rejected());
        (0..others).for_each(|_| tally.other());
        tally
    }

    #[test]
    fn twenty_rows_judge_a_contract() {
        for (rejected, others, expected) in [
            (0, 20, Verdict::Good),
            (15, 5, Verdict::Good),
            (16, 4, Verdict::Bad),
            (20, 0, Verdict::Bad),
            (19, 0, Verdict::Open),
            (0, 19, Verdict::Open),
            (800, 200, Verdict::Bad),
            (799, 201, Verdict::Good),
        ] {
            assert_eq!(
                tally(rejected, others).verdict(false),
                expected,
                "{rejected} of {}",
                rejected + others
            );
        }
    }

    /// Rejections by the composer come at once, deliveries after the target's answer.
    #[test]
    fn rows_on_their_way_count() {
        let mut sent = tally(40, 0);
        sent.composed(200);
        assert_eq!(sent.verdict(false), Verdict::Open);
        assert_eq!(sent.verdict(true), Verdict::Open);
        (0..11).for_each(|_| sent.other());
        assert_eq!(sent.verdict(false), Verdict::Good);
        let mut refused = tally(0, 0);
        refused.composed(30);
        assert_eq!(refused.verdict(false), Verdict::Open, "the target has not answered");
        (0..24).for_each(|_| refused.rejected());
        assert_eq!(refused.verdict(false), Verdict::Bad);
    }

    #[test]
    fn a_small_batch_judges_it_only_if_every_row_was_rejected() {
        for (rejected, others, expected) in
            [(9, 0, Verdict::Open), (10, 0, Verdict::Bad), (18, 1, Verdict::Open), (0, 1, Verdict::Open)]
        {
            assert_eq!(
                tally(rejected, others).verdict(true),
                expected,
                "{rejected} of {}",
                rejected + others
            );
        }
    }
}
