//! Dispatch jobs: webhook deliveries, each attempt on record.
//!
//! Owns: what a job is, how it is made, found, and moved by hand. Must not: deliver; a lane of the contract
//! `dispatch_jobs` does. Invariant: a job by hand moves only as the contract's operator moves say (J2, J14).

mod attempt;
mod create;
mod gather;
mod list;
mod moves;
mod new;
mod references;
mod view;

pub use attempt::{AttemptStatus, DispatchAttempt, ErrorType};
pub use create::{Created, Outcome};
pub(crate) use create::{Known, insert_jobs, lookups};
pub(crate) use gather::Gathering;
pub(crate) use list::beyond;
pub use list::{Filter, MetadataFilter};
pub use moves::Retried;
pub(crate) use new::{Draught, Origin, check_content_type};
pub use new::{Metadatum, NewJob};
pub use view::{DispatchJob, DispatchJobMetadata};

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Where a job comes from.
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

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchStatus {
    /// To be delivered.
    Queued,
    /// For later, or waiting for a queue that is away.
    Pending,
    InProgress,
    Completed,
    /// Failed; `nextAttemptAt` tells whether it is tried again.
    Error,
    Cancelled,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchProtocol {
    #[default]
    HttpWebhook,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// What a failure does to the jobs behind it in its message group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum DispatchMode {
    /// No order at all.
    #[default]
    Immediate,
    /// In order; the next goes after the first failure.
    NextOnError,
    /// In order; the group waits.
    BlockOnError,
    /// The row holds a value that this version does not know.
    #[serde(skip_deserializing)]
    Unknown,
}

/// The name that the API and the table share.
pub(crate) fn name<T: Serialize>(value: &T) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        _ => String::new(),
    }
}

/// The value of that name.
pub(crate) fn named<T: serde::de::DeserializeOwned>(name: &str) -> Option<T> {
    serde_json::from_value(serde_json::Value::String(name.to_owned())).ok()
}
