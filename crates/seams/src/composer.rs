//! Composer: turns a claimed row into an Envelope, or returns why it cannot.

use async_trait::async_trait;

use crate::{ClaimedRow, Envelope, Outcome};

/// Turns rows into envelopes. Idempotent and cancel-safe: it changes nothing.
#[async_trait]
pub trait Composer: Send + Sync {
    /// Composes the rows; returns one result per row, in order. `Err` holds `Rejected`, `Skipped` or `Deferred`; a row
    /// that cannot be composed must not fail the others. Every row has its fields here, large ones included.
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>>;

    /// Returns the maximum size of the message columns of one row, in bytes. A larger row is rejected without being
    /// loaded.
    fn size_limit(&self) -> u64;

    /// Returns the recipients of each row, in order, if they are known without composing it; empty if not. Must be
    /// cheap: called for the rows of every claim, so that look-ups by recipient are one query per claim. An unreadable
    /// row has no recipients here; `compose` returns the reason.
    async fn recipients(&self, rows: &[&ClaimedRow]) -> Vec<Vec<String>> {
        vec![Vec::new(); rows.len()]
    }

    /// Returns the dead letter of an envelope that ends undelivered; `None` if no target for dead letters is
    /// configured.
    fn dead_letter(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        let _ = (envelope, reason);
        None
    }
}
