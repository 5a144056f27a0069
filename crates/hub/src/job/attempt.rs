//! Delivery attempts of a job. The lane writes an attempt in the transaction that settles the job.

use postrider_seams::row::Value;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::named;
use crate::access::Actor;
use crate::sheet::{Kind, Reader, Sheet};
use crate::{Moment, mask};

pub(super) const SHEET: Sheet = Sheet {
    table: "dispatch_attempts",
    columns: &[
        ("id", Kind::Text),
        ("attempt_number", Kind::Int),
        ("attempted_at", Kind::Time),
        ("completed_at", Kind::Time),
        ("duration_millis", Kind::Int),
        ("status", Kind::Text),
        ("response_code", Kind::Int),
        ("response_body", Kind::Text),
        ("error_message", Kind::Text),
        ("error_stack_trace", Kind::Text),
        ("error_type", Kind::Text),
        ("created_at", Kind::Time),
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
    /// It may pass: tried again.
    Transient,
    /// It won't: not tried again.
    Permanent,
    /// Tried again. Or the row holds a value that this version does not know.
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

pub(super) fn read(row: Vec<Value>) -> DispatchAttempt {
    let mut row = Reader::new(row);
    DispatchAttempt {
        id: row.word(),
        attempt_number: row.int().unwrap_or_default(),
        attempted_at: row.time(),
        completed_at: row.time(),
        duration_millis: row.int(),
        status: row.text().map(|status| named(&status).unwrap_or(AttemptStatus::Unknown)),
        response_code: row.int(),
        response_body: row.text(),
        error_message: row.text(),
        error_stack_trace: row.text(),
        error_type: row.text().map(|kind| named(&kind).unwrap_or(ErrorType::Unknown)),
        created_at: row.time(),
    }
}
