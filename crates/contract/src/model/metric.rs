//! Figures of a lane that a contract may name as its users' dashboards already do.

/// A figure that has a name of ours, and may have another beside it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Metric {
    /// Looks at the table, the empty ones too.
    Polls,
    /// How long a look took.
    PollSeconds,
    /// Rows delivered.
    Delivered,
    /// Rows that ended without a delivery.
    Dead,
    /// Rows whose lease ran out and that were taken back.
    Reclaimed,
    /// Age of the oldest due row.
    LagSeconds,
}

impl Metric {
    pub const ALL: [Self; 6] =
        [Self::Polls, Self::PollSeconds, Self::Delivered, Self::Dead, Self::Reclaimed, Self::LagSeconds];

    /// Its key in `[metrics]`.
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

    /// How its name must end, as Prometheus wants it.
    pub fn ending(self) -> &'static str {
        match self {
            Self::PollSeconds | Self::LagSeconds => "_seconds",
            Self::Polls | Self::Delivered | Self::Dead | Self::Reclaimed => "_total",
        }
    }
}
