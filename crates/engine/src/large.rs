//! Loads large rows: rows whose fields were too large for the claim. They are loaded right before their delivery,
//! several in one call of the store, within the lane's byte budget.
//!
//! Invariants: every row is added to the call, or handed back; the bytes of a call count against the budget until it is
//! over. A call waits for bytes only once it holds its lock (`suspect.rs`), and for all its bytes at once: two calls
//! that each hold what the other waits for would wait forever.

use std::time::Duration;

use postrider_seams::store::{self, Class};
use postrider_seams::{Failure, Fields, Lease, Outcome};

use crate::batch::HeldRow;
use crate::call::{Call, hand_back_run};
use crate::runner::Runner;
use crate::waiting::Run;

/// Time for which a row that could not be read is held before it is handed back.
const UNREADABLE: Duration = Duration::from_secs(1);

/// The divisor of the lane's byte budget that limits one load, so that several deliverers can load at once.
const PART: u64 = 8;

/// A large row, and the rows of its group behind it.
struct Head {
    row: HeldRow,
    lease: Lease,
    behind: Run,
}

/// Whether the first row of the run came without its fields.
pub(crate) fn is_large(run: &Run) -> bool {
    run.front().is_some_and(|held| held.row.fields.is_none())
}

/// Loads the first row of each run and adds it to the call: as many rows as fit into a part of the byte budget, at least
/// one and at most `most`. The other runs go back to the queue.
pub(crate) async fn add<'a>(runner: &'a Runner, call: &mut Call<'a>, runs: Vec<Run>, most: usize) {
    let mut heads = Vec::new();
    let mut bytes = 0;
    for mut run in runs {
        let Some(row) = run.pop_front() else { continue };
        if let Some(outcome) = too_large(runner, row.row.size) {
            call.add_failed(row, outcome, run);
            continue;
        }
        let Some(lease) = row.lease.current() else {
            run.push_front(row);
            hand_back_run(runner, run);
            continue;
        };
        let size = row.row.size;
        let fits = heads.len() < most && bytes + size <= runner.lane.limits.large_row_bytes / PART;
        if heads.is_empty() || fits {
            bytes += size;
            heads.push(Head { row, lease, behind: run });
        } else {
            run.push_front(row);
            runner.waiting.put_back(run);
        }
    }
    if !heads.is_empty() {
        call.keep_bytes(runner.room_for(bytes).await);
        load(runner, call, heads).await;
    }
}

/// Returns the rejection of a row that exceeds the composer's size limit; such a row is never loaded.
fn too_large(runner: &Runner, size: u64) -> Option<Outcome> {
    let limit = runner.lane.composer.size_limit();
    (size > limit).then(|| {
        let reason = format!("the message is too large: {size} bytes, at most {limit} are allowed");
        Outcome::Rejected(Failure::new(reason))
    })
}

/// Loads the rows in one call of the store, and adds them to the call of the transport.
async fn load(runner: &Runner, call: &mut Call<'_>, heads: Vec<Head>) {
    let leases: Vec<Lease> = heads.iter().map(|head| head.lease.clone()).collect();
    match runner.store.load(&leases).await {
        Ok(fields) => {
            for (head, fields) in heads.into_iter().zip(fields) {
                add_loaded(runner, call, head, fields);
            }
        }
        // One row is the cause: load each alone, so that the others do not fail with it.
        Err(error) if error.class == Class::Permanent && heads.len() > 1 => {
            for head in heads {
                Box::pin(load(runner, call, vec![head])).await;
            }
        }
        // If it were handed back, it would be claimed and fail again forever.
        Err(error) if error.class == Class::Permanent => {
            for head in heads {
                call.add_failed(head.row, unreadable(&error), head.behind);
            }
        }
        Err(error) => {
            wait_after(runner, heads.len(), &error).await;
            for head in heads {
                hand_back(runner, head);
            }
        }
    }
}

/// Adds a row with its fields; a row that is gone is handed back.
fn add_loaded(runner: &Runner, call: &mut Call<'_>, mut head: Head, fields: Option<Fields>) {
    if fields.is_some() {
        head.row.row.fields = fields;
        call.add([head.row], head.behind);
    } else {
        hand_back(runner, head);
    }
}

fn hand_back(runner: &Runner, mut head: Head) {
    head.behind.push_front(head.row);
    hand_back_run(runner, head.behind);
}

fn unreadable(error: &store::Error) -> Outcome {
    Outcome::Rejected(Failure::new(format!("the row could not be read: {error}")))
}

/// Waits before rows that could not be read are handed back. Otherwise they would be claimed at once, and a table that
/// cannot be read would be queried without a pause.
async fn wait_after(runner: &Runner, rows: usize, error: &store::Error) {
    tracing::warn!(lane = runner.state.name, rows, %error, "large rows could not be read; handed back");
    tokio::time::sleep(UNREADABLE).await;
}
