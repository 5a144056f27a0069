//! The lease check that a transport makes right before it sends an envelope: whether the worker still holds the row.
//!
//! An envelope may wait in a transport for a connection, a slot or a rate limit, and the process may be suspended
//! meanwhile. Once the lease has run out, another worker may have sent the row.

use std::fmt;
use std::sync::Arc;

use crate::{Envelope, Failure, Outcome};

/// A check that follows the lease of a row and its extensions. The default always holds: for envelopes without a row.
#[derive(Clone, Default)]
pub struct LeaseCheck(Option<Arc<dyn Fn() -> bool + Send + Sync>>);

impl LeaseCheck {
    /// Creates a check. `holds` is called often, from any thread: it must not block.
    pub fn new(holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(holds)))
    }

    /// Whether the lease is held and has enough time left to begin.
    pub fn holds(&self) -> bool {
        self.0.as_ref().is_none_or(|holds| holds())
    }
}

impl fmt::Debug for LeaseCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseCheck")
    }
}

impl Envelope {
    /// Checks the lease; every transport calls this right before it begins to send the envelope. An error is the
    /// envelope's outcome: the row is handed back at no cost.
    pub fn may_begin(&self) -> Result<(), Outcome> {
        if self.lease.holds() {
            return Ok(());
        }
        Err(Outcome::Deferred(Failure::new("not sent: its lease ran out while it waited to be sent")))
    }
}
