//! Describes what a table lacks, and what each missing part would add.

use postrider_contract::{ColumnRole, Columns, When};
use postrider_seams::inspect::{Finding, Level};

use super::Waking;
use crate::open_table::OpenTable;

impl OpenTable {
    /// Describes one missing part. `declared` are the columns of the contract; `self.contract` no longer has those that
    /// the table lacks.
    pub(crate) fn missing_finding(&self, ddl: &str, declared: &Columns) -> Finding {
        let lacks = match (quoted(ddl, " INDEX "), quoted(ddl, " ADD ")) {
            (Some(index), _) => format!("the index {index}"),
            (None, Some(column)) => {
                let gain = declared.0.iter().find(|(_, known)| known.name == column).map(|(role, _)| *role);
                let gain = gain.map_or_else(
                    || "stores a value of the contract's [write]".to_owned(),
                    |role| self.gain(role),
                );
                format!("the column {column}, which {gain}")
            }
            (None, None) => "what this statement creates".to_owned(),
        };
        Finding {
            level: Level::Warning,
            text: format!("the table lacks {lacks}; `postrider migrate` adds it"),
            fix: Some(ddl.to_owned()),
        }
    }

    /// The benefit of the column for a lane.
    fn gain(&self, role: ColumnRole) -> String {
        match role {
            ColumnRole::Attempts => "counts attempts in the row itself",
            ColumnRole::MaxAttempts => "lets a row have its own number of attempts",
            ColumnRole::Due => "keeps when a row is due, with jitter; without it that is computed from its last change",
            ColumnRole::ClaimedAt => "records when a row was claimed",
            ColumnRole::LeaseUntil => {
                let without = self.stage.lease.duration_without_lease_until.as_secs();
                return format!(
                    "lets leases be short and be extended; without it rows of a crashed worker wait {without} s"
                );
            }
            ColumnRole::Attempted => "keeps when a row was last tried",
            ColumnRole::Owner => "shows which worker holds a row",
            ColumnRole::Version => "counts the changes of a row, so that a stale worker can't overwrite it",
            ColumnRole::Error => "keeps why a row failed",
            ColumnRole::Receipt => "keeps the receipt of a delivery",
            ColumnRole::Created => "records when a row was created: for expiry, retention and claim.min_age",
            ColumnRole::Updated => "keeps when a row last changed",
            ColumnRole::Finished => "keeps when a row ended, for retention",
            ColumnRole::Duration => "keeps how long a delivery took",
            ColumnRole::Priority => "lets urgent rows go first",
            ColumnRole::Pool => "puts rows under the limits of a pool",
            ColumnRole::Id | ColumnRole::Status => "every row needs",
        }
        .to_owned()
    }

    /// A row without a creation time has no age. `migrate` cannot add a default on SQLite, so the column may stay NULL.
    pub(crate) fn ageless_finding(&self) -> Option<Finding> {
        let created = self.contract.column(ColumnRole::Created)?;
        self.shape.column(created).filter(|column| column.nullable && !column.has_default)?;
        let expires = self
            .contract
            .sweeps
            .iter()
            .any(|sweep| matches!(&sweep.when, When::OlderThan { since, .. } if since == created));
        let waits = !self.contract.claim.min_age.is_zero();
        let then = match (waits, expires) {
            (true, true) => "is never claimed (claim.min_age) and never expires",
            (true, false) => "is never claimed (claim.min_age)",
            (false, true) => "never expires",
            (false, false) => return None,
        };
        let text = format!(
            "{created} may be NULL and has no default: a row whose producer leaves it out {then}; let every producer write {created}, \
             or declare it NOT NULL with a default"
        );
        Some(Finding { level: Level::Warning, text, fix: None })
    }
}

/// The first quoted name after a word of a statement.
fn quoted(ddl: &str, after: &str) -> Option<String> {
    let (_, rest) = ddl.split_once(after)?;
    rest.split(['"', '`']).nth(1).map(str::to_owned)
}

pub(crate) fn waking(waking: Waking) -> &'static str {
    match waking {
        Waking::AtOnce => "new rows wake the lane at once",
        Waking::Polls => {
            "rows of other programs are found by polling; those of this process wake the lane at once"
        }
        Waking::NoTrigger => {
            "rows of other programs are found by polling (`postrider migrate` adds a trigger that wakes the lane at once)"
        }
        Waking::BehindPooler { trigger: true } => {
            "new rows are found by polling: notifications do not come through a transaction pooler; to wake the lane at once, set \
             stores.NAME.listen_url to the server's direct URL"
        }
        Waking::BehindPooler { trigger: false } => {
            "new rows are found by polling: notifications do not come through a transaction pooler; to wake the lane at once, set \
             stores.NAME.listen_url to the server's direct URL and run `postrider migrate`"
        }
    }
}
