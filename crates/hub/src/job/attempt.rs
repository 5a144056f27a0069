//! One try to deliver a job. The lane writes them, in the transaction of the move.

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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorType {
    /// It may pass: tried again.
    Transient,
    /// It won't: not tried again.
    Permanent,
    /// Tried again.
    Unknown,
}

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchAttempt {
    pub id: String,
    /// From 1.
    pub attempt_number: i64,
    pub attempted_at: Option<Moment>,
    pub completed_at: Option<Moment>,
    pub duration_millis: Option<i64>,
    pub status: Option<AttemptStatus>,
    pub response_code: Option<i64>,
    /// At most 4 KiB of it.
    pub response_body: Option<String>,
    pub error_message: Option<String>,
    /// The chain of causes.
    pub error_stack_trace: Option<String>,
    pub error_type: Option<ErrorType>,
    pub created_at: Option<Moment>,
}

impl DispatchAttempt {
    /// As this caller may read it.
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
        error_type: row.text().and_then(|kind| named(&kind)),
        created_at: row.time(),
    }
}
