//! Roles of columns: the purpose for which the engine uses a column.

use std::fmt;

/// The purpose for which the engine uses a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ColumnRole {
    Id,
    Status,
    Attempts,
    MaxAttempts,
    Due,
    ClaimedAt,
    LeaseUntil,
    Attempted,
    Owner,
    Version,
    Error,
    Receipt,
    Created,
    Updated,
    Finished,
    Duration,
    Priority,
    Pool,
}

impl ColumnRole {
    /// Every role.
    pub const ALL: [Self; 18] = [
        Self::Id,
        Self::Status,
        Self::Attempts,
        Self::MaxAttempts,
        Self::Due,
        Self::ClaimedAt,
        Self::LeaseUntil,
        Self::Attempted,
        Self::Owner,
        Self::Version,
        Self::Error,
        Self::Receipt,
        Self::Created,
        Self::Updated,
        Self::Finished,
        Self::Duration,
        Self::Priority,
        Self::Pool,
    ];

    /// Returns the name of the role in contracts.
    pub fn name(self) -> &'static str {
        match self {
            Self::Id => "id",
            Self::Status => "status",
            Self::Attempts => "attempts",
            Self::MaxAttempts => "max_attempts",
            Self::Due => "due",
            Self::ClaimedAt => "claimed_at",
            Self::LeaseUntil => "lease_until",
            Self::Attempted => "attempted",
            Self::Owner => "owner",
            Self::Version => "version",
            Self::Error => "error",
            Self::Receipt => "receipt",
            Self::Created => "created",
            Self::Updated => "updated",
            Self::Finished => "finished",
            Self::Duration => "duration",
            Self::Priority => "priority",
            Self::Pool => "pool",
        }
    }

    /// Returns the role of that name; `None` if there is none.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.name() == name)
    }

    /// Whether the column holds a time.
    pub fn is_time(self) -> bool {
        matches!(
            self,
            Self::Due
                | Self::ClaimedAt
                | Self::LeaseUntil
                | Self::Attempted
                | Self::Created
                | Self::Updated
                | Self::Finished
        )
    }
}

impl fmt::Display for ColumnRole {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
