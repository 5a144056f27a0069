//! Delivery attempts of a job. The lane writes an attempt in the transaction that settles the job.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Actor;
use crate::sql::{RowReader, Table, columns};
use crate::{Moment, mask};

pub(super) const TABLE: Table = Table {
    name: "dispatch_attempts",
    columns: columns![
        id, attempt_number: Int, attempted_at: Time, completed_at: Time, duration_millis: Int, status,
        response_code: Int, response_body, error_message, error_stack_trace, error_type, created_at: Time,
    ],
};

/// The result of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum AttemptStatus {
    Success,
    ClientError,
    ServerError,
    Timeout,
    ConnectionError,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// Whether a failed attempt is retried: `TRANSIENT` and `UNKNOWN` errors are, `PERMANENT` ones are not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorType {
    /// Temporary; retried.
    Transient,
    /// Permanent; not retried.
    Permanent,
    /// Unknown; retried. Or the row holds a value that this version does not know.
    Unknown,
}

/// One attempt to deliver a job.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchAttempt {
    /// Id of the attempt.
    pub id: String,
    /// Number of the attempt, from 1.
    pub attempt_number: i64,
    /// When the request was sent.
    pub attempted_at: Option<Moment>,
    /// When the response arrived or the attempt was given up.
    pub completed_at: Option<Moment>,
    /// Duration of the attempt, in milliseconds.
    pub duration_millis: Option<i64>,
    /// How the attempt ended.
    pub status: Option<AttemptStatus>,
    /// HTTP status of the response. Null: no response.
    pub response_code: Option<i64>,
    /// First 4 KiB of the response.
    pub response_body: Option<String>,
    /// Why the attempt failed.
    pub error_message: Option<String>,
    /// The chain of causes, one per line.
    pub error_stack_trace: Option<String>,
    /// Whether the error is retried.
    pub error_type: Option<ErrorType>,
    /// When the attempt was recorded.
    pub created_at: Option<Moment>,
}

impl DispatchAttempt {
    /// Hides resolved addresses in the errors if the actor may not see them.
    pub(super) fn for_caller(mut self, actor: &Actor, target: &str) -> Self {
        mask::addresses(actor, target, &mut self.error_message);
        mask::addresses(actor, target, &mut self.error_stack_trace);
        self
    }
}

pub(super) fn read(mut row: RowReader) -> DispatchAttempt {
    DispatchAttempt {
        id: row.required_text(),
        attempt_number: row.required_int(),
        attempted_at: row.time(),
        completed_at: row.time(),
        duration_millis: row.int(),
        status: row.name_or(AttemptStatus::Unknown),
        response_code: row.int(),
        response_body: row.text(),
        error_message: row.text(),
        error_stack_trace: row.text(),
        error_type: row.name_or(ErrorType::Unknown),
        created_at: row.time(),
    }
}
