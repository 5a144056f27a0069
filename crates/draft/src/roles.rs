//! Which column has which role, by its name and type.

use postrider_seams::TableDescription;
use postrider_seams::table::ColumnDescription;

use crate::columns::{Choice, Kind, choose, kind, may_be_time};

/// The kinds of values that a role accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Accepts {
    Number,
    Time,
    Text,
    State,
}

/// A role of the contract language, and the names that its column usually has, the likeliest first.
struct Role {
    name: &'static str,
    accepts: Accepts,
    names: &'static [&'static str],
}

const ROLES: &[Role] = &[
    Role {
        name: "status",
        accepts: Accepts::State,
        names: &[
            "status",
            "state",
            "status_name",
            "delivery_status",
            "outbox_status",
            "message_status",
            "mail_status",
            "email_status",
            "send_status",
            "processing_status",
            "job_state",
            "job_status",
            "phase",
        ],
    },
    Role {
        name: "attempts",
        accepts: Accepts::Number,
        names: &[
            "attempts",
            "attempt_count",
            "attempts_count",
            "retry_count",
            "retries",
            "number_of_retries",
            "tries",
            "try_count",
            "failure_count",
            "errors_count",
            "error_count",
            "failures",
            "num_attempts",
            "attempt",
            "number_of_attempts",
            "retries_count",
            "send_attempts",
            "delivery_attempts",
            "requeue_count",
            "fail_count",
        ],
    },
    Role {
        name: "max_attempts",
        accepts: Accepts::Number,
        names: &["max_attempts", "max_retries", "max_tries"],
    },
    Role {
        name: "due",
        accepts: Accepts::Time,
        names: &[
            "next_attempt_at",
            "next_attempt_time",
            "next_attempt",
            "next_retry_at",
            "next_retry_time",
            "next_retry",
            "retry_at",
            "next_try_at",
            "run_at",
            "next_run_at",
            "due",
            "due_at",
            "available_at",
            "visible_at",
            "scheduled_at",
            "scheduled_time",
            "scheduled_for",
            "schedule_at",
            "send_at",
            "send_after",
            "deliver_at",
            "not_before",
            "process_after",
            "process_at",
            "execute_at",
            "next_time_at",
        ],
    },
    Role {
        name: "claimed_at",
        accepts: Accepts::Time,
        names: &[
            "claimed_at",
            "locked_at",
            "taken_at",
            "reserved_at",
            "picked_at",
            "processing_at",
            "processing_started_at",
            "dispatch_started_at",
            "started_at",
            "lock_time",
            "sending_at",
        ],
    },
    Role {
        name: "lease_until",
        accepts: Accepts::Time,
        names: &[
            "lease_until",
            "locked_until",
            "lock_until",
            "lease_expires_at",
            "lock_expires_at",
            "processing_until",
        ],
    },
    Role {
        name: "attempted",
        accepts: Accepts::Time,
        names: &[
            "last_attempt_at",
            "last_attempt_time",
            "attempted_at",
            "last_tried_at",
            "last_attempt",
            "last_send_attempt",
        ],
    },
    Role {
        name: "owner",
        accepts: Accepts::Text,
        names: &[
            "locked_by",
            "claimed_by",
            "taken_by",
            "picked_by",
            "owner",
            "worker_id",
            "worker",
            "lock_owner",
        ],
    },
    Role {
        name: "version",
        accepts: Accepts::Number,
        names: &["version", "lock_version", "row_version", "revision", "optlock"],
    },
    Role {
        name: "error",
        accepts: Accepts::Text,
        names: &[
            "last_error",
            "error",
            "error_message",
            "error_text",
            "failure_reason",
            "error_log",
            "error_msg",
            "failure",
            "last_failure",
            "exception",
            "failure_message",
            "error_details",
        ],
    },
    Role {
        name: "created",
        accepts: Accepts::Time,
        names: &[
            "created_at",
            "created",
            "created_on",
            "inserted_at",
            "added",
            "added_at",
            "create_time",
            "created_time",
            "creation_time",
            "creation_date",
            "occurred_at",
            "occurred_on",
            "timestamp",
        ],
    },
    Role {
        name: "updated",
        accepts: Accepts::Time,
        names: &[
            "updated_at",
            "updated",
            "last_updated",
            "modified_at",
            "updated_on",
            "changed_at",
            "last_modified",
        ],
    },
    Role {
        name: "finished",
        accepts: Accepts::Time,
        names: &[
            "sent_at",
            "processed_at",
            "delivered_at",
            "completed_at",
            "published_at",
            "finished_at",
            "done_at",
            "sent_on",
            "date_sent",
            "dispatched_at",
            "processed_on",
        ],
    },
    Role { name: "priority", accepts: Accepts::Number, names: &["priority"] },
];

/// The columns that were chosen for roles, in the order of the reference.
#[derive(Debug, Clone, Default)]
pub struct Roles(Vec<(&'static str, Choice)>);

impl Roles {
    /// Chooses a column for each role that the table has one for.
    pub fn guess(table: &TableDescription) -> Self {
        let chosen = |role: &Role| {
            let accept = |column: &ColumnDescription| accepts(table, role.accepts, column);
            Some((role.name, choose(table, role.names, accept)?))
        };
        Self(ROLES.iter().filter_map(chosen).collect())
    }

    /// Returns the column of the role.
    pub fn get(&self, role: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| *name == role).map(|(_, choice)| choice.column.as_str())
    }

    /// Removes the role.
    pub fn remove(&mut self, role: &str) {
        self.0.retain(|(name, _)| *name != role);
    }

    /// Gives the role to a column.
    pub fn set(&mut self, role: &'static str, column: &str) {
        self.remove(role);
        self.0.push((role, Choice { column: column.to_owned(), others: Vec::new() }));
        let place = |name: &str| ROLES.iter().position(|role| role.name == name);
        self.0.sort_by_key(|(name, _)| place(name));
    }

    /// Returns every role with its column and the alternatives.
    pub fn iter(&self) -> impl Iterator<Item = &(&'static str, Choice)> {
        self.0.iter()
    }

    /// Returns the columns of roles that are times.
    pub fn times(&self) -> Vec<&str> {
        let is_time =
            |name: &str| ROLES.iter().any(|role| role.name == name && role.accepts == Accepts::Time);
        self.0.iter().filter(|(name, _)| is_time(name)).map(|(_, choice)| choice.column.as_str()).collect()
    }
}

fn accepts(table: &TableDescription, accepts: Accepts, column: &ColumnDescription) -> bool {
    match accepts {
        Accepts::Number => kind(column) == Kind::Integer,
        Accepts::Time => may_be_time(table, column),
        Accepts::Text => matches!(kind(column), Kind::Text | Kind::Json),
        Accepts::State => matches!(kind(column), Kind::Text | Kind::Integer) && !is_crowded(table, column),
    }
}

/// Whether the column was sampled and holds too many values for a state.
fn is_crowded(table: &TableDescription, column: &ColumnDescription) -> bool {
    table.rows > 0 && column.filled > 0 && column.values.is_none() && column.labels.is_empty()
}
