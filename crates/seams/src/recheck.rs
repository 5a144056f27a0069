//! What a transport asks about a webhook right before it sends it: much may have changed since it was composed.

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;

use crate::Failure;

#[async_trait]
pub trait AsComposed: Send + Sync {
    /// Does what was composed still hold? An error defers the row, untried, so that it is composed again. Idempotent and
    /// cancel-safe; costs a query only if the row was composed more than a moment ago.
    async fn still_holds(&self) -> Result<(), Failure>;

    /// The receiver answered that it is gone for good. Returns when no other row is sent to it. Idempotent.
    async fn gone(&self);
}

/// Two are equal if they are the same object.
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
