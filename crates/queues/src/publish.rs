//! Publishes pointers as records, through the broker's transport, in as many concurrent calls as it allows.

use bytes::Bytes;
use futures::StreamExt as _;
use postrider_seams::outcome::shorten;
use postrider_seams::queue::Error;
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Outcome, Record, RowId, Transport};
use tokio::time::Instant;

use crate::pointer;

/// Publishes pointers as records to `topic`; returns one result for each.
pub(crate) async fn publish(
    transport: &dyn Transport,
    topic: &str,
    rows: &[RowId],
    deadline: Instant,
) -> Vec<Result<(), Error>> {
    let capabilities = transport.capabilities();
    let parts = rows.chunks(capabilities.batch.max(1));
    let calls: Vec<_> = parts.map(|part| publish_part(transport, topic, part, deadline)).collect();
    // The results keep the order of the rows.
    let calls = futures::stream::iter(calls).buffered(capabilities.concurrency.max(1));
    calls.collect::<Vec<_>>().await.into_iter().flatten().collect()
}

async fn publish_part(
    transport: &dyn Transport,
    topic: &str,
    rows: &[RowId],
    deadline: Instant,
) -> Vec<Result<(), Error>> {
    let envelopes: Vec<Envelope> = rows.iter().map(|row| envelope(topic, row)).collect();
    transport.deliver(&envelopes, deadline).await.into_iter().map(answer).collect()
}

fn envelope(topic: &str, row: &RowId) -> Envelope {
    Envelope {
        row: row.to_string(),
        // Unique for each publication: a broker that drops duplicates must not drop the second pointer of a row, which
        // is published to deliver the row again.
        dedupe: format!("{:032x}", rand::random::<u128>()),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Record(Record {
            topic: topic.to_owned(),
            key: None,
            payload: Bytes::from(pointer::encode(row)),
            headers: Vec::new(),
        }),
        detail: Detail::new(),
    }
}

fn answer(outcome: Outcome) -> Result<(), Error> {
    match outcome {
        Outcome::Delivered(_) => Ok(()),
        Outcome::Rejected(failure) | Outcome::Refused(failure) | Outcome::Skipped(failure) => {
            Err(Error::Refused(shorten(failure.reason)))
        }
        Outcome::Retryable(failure) | Outcome::Deferred(failure) | Outcome::Uncertain(failure) => {
            Err(Error::Unavailable(shorten(failure.reason)))
        }
    }
}

#[cfg(test)]
mod tests;
