//! Delivers large rows: rows whose fields were too large for the claim. Loads them later, several per call, within the
//! lane's byte budget.
//!
//! Invariant: every row given to [`deliver`] is delivered, ended or handed back; its bytes count against the budget
//! until then.

use std::collections::VecDeque;
use std::time::Duration;

use postrider_seams::store::{self, Class};
use postrider_seams::{Failure, Lease, Outcome};

use crate::batch::HeldRow;
use crate::call::hand_back;
use crate::runner::Runner;
use crate::{decide, deliverer};

/// Time for which a row that could not be read is held before it is handed back.
const UNREADABLE: Duration = Duration::from_secs(1);

/// The divisor of the lane's byte budget that limits one load, so that several deliverers can load at once.
const PART: u64 = 8;

/// Loads and delivers the rows, in as few calls as the budget allows.
pub(crate) async fn deliver(runner: &Runner, rows: Vec<HeldRow>) {
    let mut waiting = VecDeque::with_capacity(rows.len());
    for held in rows {
        match too_large(runner, held.row.size) {
            Some(outcome) => {
                let decided = decide::decided(runner, &held.row, held.lease, None, outcome);
                runner.outcomes.push(vec![decided]);
            }
            None => waiting.push_back(held),
        }
    }
    while !waiting.is_empty() {
        let part = next_part(&mut waiting, runner.lane.limits.bytes / PART);
        let bytes = part.iter().map(|held| held.row.size).sum();
        let _permit = runner.room_for(bytes).await;
        let loaded = load(runner, part).await;
        deliverer::deliver_rows(runner, loaded).await;
    }
}

/// Returns the rejection of a row that exceeds the composer's size limit; such a row is never loaded.
pub(crate) fn too_large(runner: &Runner, size: u64) -> Option<Outcome> {
    let limit = runner.lane.composer.size_limit();
    (size > limit).then(|| {
        let reason = format!("the message is too large: {size} bytes, at most {limit} are allowed");
        Outcome::Rejected(Failure::new(reason))
    })
}

/// Returns the rejection of a row that can never be read: if handed back, it would be claimed and fail again forever.
pub(crate) fn unreadable(error: &store::Error) -> Outcome {
    Outcome::Rejected(Failure::new(format!("the row could not be read: {error}")))
}

/// Takes the first rows that fit into `most` bytes together; always at least one.
fn next_part(waiting: &mut VecDeque<HeldRow>, most: u64) -> Vec<HeldRow> {
    let mut bytes = 0;
    let fits = waiting.iter().take_while(|held| {
        bytes += held.row.size;
        bytes <= most
    });
    let rows = fits.count().max(1);
    waiting.drain(..rows).collect()
}

/// Loads the rows in one call; those that are gone or cannot be read are handed back or ended.
async fn load(runner: &Runner, rows: Vec<HeldRow>) -> Vec<HeldRow> {
    let (mut held, mut leases): (Vec<HeldRow>, Vec<Lease>) = (Vec::new(), Vec::new());
    for row in rows {
        match row.lease.current() {
            Some(lease) => {
                held.push(row);
                leases.push(lease);
            }
            None => hand_back(runner, [row]),
        }
    }
    if held.is_empty() {
        return held;
    }
    match runner.store.load(&leases).await {
        Ok(fields) => with_fields(runner, held, fields),
        // One row is the cause: load each alone, so that the others do not fail with it.
        Err(error) if error.class == Class::Permanent && held.len() > 1 => {
            let mut loaded = Vec::with_capacity(held.len());
            for row in held {
                loaded.extend(Box::pin(load(runner, vec![row])).await);
            }
            loaded
        }
        Err(error) => {
            fail(runner, held, &error).await;
            Vec::new()
        }
    }
}

fn with_fields(
    runner: &Runner,
    rows: Vec<HeldRow>,
    fields: Vec<Option<postrider_seams::Fields>>,
) -> Vec<HeldRow> {
    let mut loaded = Vec::with_capacity(rows.len());
    for (mut held, fields) in rows.into_iter().zip(fields) {
        if fields.is_some() {
            held.row.fields = fields;
            loaded.push(held);
        } else {
            hand_back(runner, [held]);
        }
    }
    loaded
}

async fn fail(runner: &Runner, rows: Vec<HeldRow>, error: &store::Error) {
    if error.class == Class::Permanent {
        let decided = rows
            .into_iter()
            .map(|held| decide::decided(runner, &held.row, held.lease, None, unreadable(error)));
        runner.outcomes.push(decided.collect());
        return;
    }
    wait_after(runner, rows.len(), error).await;
    hand_back(runner, rows);
}

/// Waits before rows that could not be read are handed back. Otherwise they would be claimed at once, and a table that
/// cannot be read would be queried without a pause.
pub(crate) async fn wait_after(runner: &Runner, rows: usize, error: &store::Error) {
    tracing::warn!(lane = runner.state.name, rows, %error, "large rows could not be read; handed back");
    tokio::time::sleep(UNREADABLE).await;
}
