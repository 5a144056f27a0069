//! Composer: turns a claimed row into an Envelope, or says why it can't.

use async_trait::async_trait;

use crate::{Claimed, Envelope, Outcome};

/// Turns rows into envelopes. Idempotent and cancel-safe: it changes nothing.
#[async_trait]
pub trait Composer: Send + Sync {
    /// One result per row, in order. `Err` holds `Rejected`, `Skipped` or `Deferred`; a row that can't be composed
    /// never stops the ones beside it. Every row has its fields here, large ones included.
    async fn compose(&self, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>>;

    /// The most bytes that the message columns of one row may have. A larger row is rejected without being loaded.
    fn size_limit(&self) -> u64;

    /// Who each row is to, where that can be known without composing it; empty where it can't. Cheap and short: called for
    /// the rows of every claim, so that look-ups by recipient are one query per claim. An unreadable row has none here;
    /// `compose` gives the reason. One result per row, in order.
    async fn recipients(&self, rows: &[&Claimed]) -> Vec<Vec<String>> {
        vec![Vec::new(); rows.len()]
    }

    /// What tells of an envelope that ends undelivered, for a place where somebody looks after such. `None`: there is
    /// no such place.
    fn dead_letter(&self, envelope: &Envelope, reason: &str) -> Option<Envelope> {
        let _ = (envelope, reason);
        None
    }
}
