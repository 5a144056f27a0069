//! The check that a transport makes right before it sends a webhook: its data may have changed since it was composed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::Failure;

/// Checks a composed webhook against the current data.
#[async_trait]
pub trait Revalidate: Send + Sync {
    /// Checks that what was composed is still valid. An error defers the row, untried, so that it is composed again.
    /// Idempotent and cancel-safe; sends a query only if the row was composed more than a moment ago.
    async fn revalidate(&self) -> Result<(), Failure>;

    /// Records that the receiver answered that it is permanently gone. Returns once no other row is sent to it. Idempotent.
    async fn record_receiver_gone(&self);
}

/// A shared check. Two are equal if they are the same object.
#[derive(Clone)]
pub struct Recheck(pub Arc<dyn Revalidate>);

impl fmt::Debug for Recheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Recheck")
    }
}

impl PartialEq for Recheck {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Recheck {}
