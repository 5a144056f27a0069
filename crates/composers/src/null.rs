//! The `null` composer: composes empty envelopes, for benches and for tests of the engine.

use async_trait::async_trait;
use postrider_seams::{ClaimedRow, Composer, Content, Envelope, Outcome};

/// Composes every row into an empty envelope.
#[derive(Debug, Clone, Copy, Default)]
pub struct NullComposer;

#[async_trait]
impl Composer for NullComposer {
    async fn compose(&self, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
        rows.iter().map(|row| Ok(empty(row))).collect()
    }

    fn size_limit(&self) -> u64 {
        u64::MAX
    }
}

fn empty(row: &ClaimedRow) -> Envelope {
    let id = row.lease.id.to_string();
    Envelope {
        dedupe: id.clone(),
        row: id,
        attempt: row.counters.attempts + 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Nothing,
        detail: postrider_seams::row::Detail::new(),
    }
}
