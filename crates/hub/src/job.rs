//! Dispatch jobs: webhook deliveries with a record of every attempt.
//!
//! Owns: creating, listing and reading jobs, and the moves of operators. Must not: deliver; a lane of the contract
//! `dispatch_jobs` does that. Invariant: operators move jobs only as the contract's operator moves allow (J2, J14).

mod attempt;
mod create;
mod fresh;
mod list;
mod moves;
mod new;
mod references;
mod states;
mod view;
mod write;

pub use attempt::{AttemptStatus, DispatchAttempt, ErrorType};
pub use create::{Created, JobResult};
pub(crate) use create::{JobsByKey, insert_jobs, lookups};
pub use list::{Filter, MetadataFilter};
pub use moves::RetryResult;
pub(crate) use new::{JobDraft, Origin, check_content_type};
pub use new::{MetadataEntry, NewJob};
pub(crate) use states::JobStates;
pub use view::{DispatchJob, DispatchJobMetadata};
pub(crate) use write::{JobRequest, JobWriter};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// The table of jobs, by which their lanes are woken.
pub(crate) const JOBS: &str = "dispatch_jobs";

/// Where a job comes from: a subscription that matched an event, or a caller of the API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchKind {
    /// From a subscription that matched an event.
    Event,
    /// Made through the API.
    Task,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// State of a job. `QUEUED` and `PENDING` jobs are to be delivered; whether a job in `ERROR` is retried is in
/// `nextAttemptAt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchStatus {
    /// Ready to be delivered.
    Queued,
    /// To be delivered later, or waiting for a queue that is not available.
    Pending,
    InProgress,
    Completed,
    /// Failed; `nextAttemptAt` says whether it is retried.
    Error,
    Cancelled,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// The protocol of a delivery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchProtocol {
    #[default]
    HttpWebhook,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// The effect of a failure on later jobs of the same message group. `IMMEDIATE`: jobs are delivered in no order.
/// `NEXT_ON_ERROR`: in order; after a failure the next job is delivered. `BLOCK_ON_ERROR`: in order; after a failure
/// the group waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchMode {
    /// No order at all.
    #[default]
    Immediate,
    /// In order; after a failure the next job is delivered.
    NextOnError,
    /// In order; after a failure the group waits.
    BlockOnError,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// Returns the name of an enum value as the API and the table spell it.
pub(crate) fn enum_name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// Returns the enum value of this name; `None` if there is none.
pub(crate) fn parse_enum<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(name.to_owned())).ok()
}
