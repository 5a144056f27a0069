//! Metrics of a lane that a contract may export under an additional name (metric aliases).

/// A metric that may have an alias.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Polls of the table, including those that found no rows.
    Polls,
    /// Duration of a poll.
    PollSeconds,
    /// Rows delivered.
    Delivered,
    /// Rows that ended without a delivery.
    Dead,
    /// Rows that were reclaimed because their lease expired.
    Reclaimed,
    /// Age of the oldest due row.
    LagSeconds,
}

impl Metric {
    /// Every metric that may have an alias.
    pub const ALL: [Self; 6] =
        [Self::Polls, Self::PollSeconds, Self::Delivered, Self::Dead, Self::Reclaimed, Self::LagSeconds];

    /// Returns the metric's key in `[metrics]`.
    pub fn key(self) -> &'static str {
        match self {
            Self::Polls => "polls",
            Self::PollSeconds => "poll_seconds",
            Self::Delivered => "delivered",
            Self::Dead => "dead",
            Self::Reclaimed => "reclaimed",
            Self::LagSeconds => "lag_seconds",
        }
    }

    /// Returns the suffix that an alias must have by Prometheus conventions.
    pub fn ending(self) -> &'static str {
        match self {
            Self::PollSeconds | Self::LagSeconds => "_seconds",
            Self::Polls | Self::Delivered | Self::Dead | Self::Reclaimed => "_total",
        }
    }
}
