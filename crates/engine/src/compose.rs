//! Composes rows. A panic of the composer costs one row, never its call.

use std::panic::AssertUnwindSafe;

use futures::FutureExt;
use postrider_seams::{ClaimedRow, Envelope, Failure, Outcome};

use crate::runner::Runner;

/// Composes the rows. After a panic, composes them one by one, so that one bad row does not fail the others.
pub(crate) async fn compose(runner: &Runner, rows: &[ClaimedRow]) -> Vec<Result<Envelope, Outcome>> {
    let composer = &runner.lane.composer;
    match AssertUnwindSafe(composer.compose(rows)).catch_unwind().await {
        Ok(composed) if composed.len() == rows.len() => composed,
        Ok(_) => {
            rows.iter().map(|_| Err(rejected("the composer returned a wrong number of results"))).collect()
        }
        Err(_) if rows.len() == 1 => vec![Err(rejected(FAILED))],
        Err(_) => {
            let mut composed = Vec::with_capacity(rows.len());
            for row in rows {
                let one = AssertUnwindSafe(composer.compose(std::slice::from_ref(row))).catch_unwind().await;
                let result = one.ok().and_then(|mut one| one.pop());
                composed.push(result.unwrap_or_else(|| Err(rejected(FAILED))));
            }
            composed
        }
    }
}

const FAILED: &str = "the composer failed on this row; see the log";

fn rejected(reason: &str) -> Outcome {
    Outcome::Rejected(Failure::new(reason))
}
