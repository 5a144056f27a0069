//! The check that a transport makes right before it sends a webhook: its data may have changed since it was composed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::Failure;

/// Checks a composed webhook against the current data.
#[async_trait]
pub trait AsComposed: Send + Sync {
    /// Checks that what was composed is still valid. An error defers the row, untried, so that it is composed again.
    /// Idempotent and cancel-safe; sends a query only if the row was composed more than a moment ago.
    async fn still_holds(&self) -> Result<(), Failure>;

    /// Records that the receiver answered it is gone for good. Returns once no other row is sent to it. Idempotent.
    async fn gone(&self);
}

/// A shared check. Two are equal if they are the same object.
#[derive(Clone)]
pub struct Recheck(pub Arc<dyn AsComposed>);

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
