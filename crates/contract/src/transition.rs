//! The moves that a row can make, under the names that contracts, metrics and history use.

use std::fmt;

/// A move of one row. `[write]` and `[[effect]]` of a contract name these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transition {
    Claimed,
    Delivered,
    Retry,
    Dead,
    Rejected,
    Skipped,
    /// Not before a later time; never tried, so it costs nothing.
    Deferred,
    /// Handed back at once; never tried, so it costs nothing.
    Released,
    /// Its lease ran out: the worker that held it is gone.
    Reclaimed,
    Swept,
    Requeued,
    Cancelled,
    Completed,
}

impl Transition {
    /// Every transition, in the order of a row's life.
    pub const ALL: [Self; 13] = [
        Self::Claimed,
        Self::Delivered,
        Self::Retry,
        Self::Dead,
        Self::Rejected,
        Self::Skipped,
        Self::Deferred,
        Self::Released,
        Self::Reclaimed,
        Self::Swept,
        Self::Requeued,
        Self::Cancelled,
        Self::Completed,
    ];

    /// Those that end a claim, fenced by its lease: what a settle can ask for.
    pub const SETTLES: [Self; 7] = [
        Self::Delivered,
        Self::Retry,
        Self::Dead,
        Self::Rejected,
        Self::Skipped,
        Self::Deferred,
        Self::Released,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Self::Claimed => "claimed",
            Self::Delivered => "delivered",
            Self::Retry => "retry",
            Self::Dead => "dead",
            Self::Rejected => "rejected",
            Self::Skipped => "skipped",
            Self::Deferred => "deferred",
            Self::Released => "released",
            Self::Reclaimed => "reclaimed",
            Self::Swept => "swept",
            Self::Requeued => "requeued",
            Self::Cancelled => "cancelled",
            Self::Completed => "completed",
        }
    }

    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transition| transition.name() == name)
    }

    /// Did a try end, whatever came of it?
    pub fn ends_a_try(self) -> bool {
        self == Self::Delivered || self.is_failure()
    }

    /// Did a try end in anything but success?
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Retry | Self::Dead | Self::Rejected | Self::Skipped)
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
