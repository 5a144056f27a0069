//! The transitions of a row, with the names that contracts, metrics and history use.

use std::fmt;

/// A transition of one row. `[write]` and `[[effect]]` of a contract name these.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Transition {
    Claimed,
    Delivered,
    Retry,
    Dead,
    Rejected,
    Skipped,
    /// Put off to a later time; no attempt was made, so it costs nothing.
    Deferred,
    /// Handed back at once; no attempt was made, so it costs nothing.
    Released,
    /// The lease expired: the worker that held it is gone.
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

    /// The transitions that end a claim and compare its fence: those that a settle can make.
    pub const SETTLES: [Self; 7] = [
        Self::Delivered,
        Self::Retry,
        Self::Dead,
        Self::Rejected,
        Self::Skipped,
        Self::Deferred,
        Self::Released,
    ];

    /// Returns the name in contracts, metrics and history.
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

    /// Returns the transition of that name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|transition| transition.name() == name)
    }

    /// Whether this transition ends an attempt, with any result.
    pub fn ends_attempt(self) -> bool {
        self == Self::Delivered || self.is_failure()
    }

    /// Whether recipients of a mail may have accepted it before this transition: in an attempt, or in one that was
    /// interrupted and deferred.
    pub fn may_record_recipients(self) -> bool {
        self.ends_attempt() || self == Self::Deferred
    }

    /// Whether this transition ends an attempt without success.
    pub fn is_failure(self) -> bool {
        matches!(self, Self::Retry | Self::Dead | Self::Rejected | Self::Skipped)
    }
}

impl fmt::Display for Transition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
