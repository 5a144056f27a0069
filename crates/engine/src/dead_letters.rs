//! Dead letters: publishes a notice of each row that ends undelivered, to the target that the composer names, before
//! the row is settled.
//!
//! Owns: one attempt to send each dead letter. Must not: change the transition of the row: it ends in its dead state
//! whether the dead letter was sent or not, where an operator finds it. Invariant: a dead letter has no longer time
//! limit than a delivery, and if it could not be sent, the row's reason says so.

use postrider_contract::Transition;
use postrider_seams::{ClaimedRow, Envelope, Outcome};

use crate::decide::{self, REASON_LIMIT, compact};
use crate::runner::Runner;
use crate::send::send_all;

/// Sends a dead letter for each row that these outcomes end.
pub(crate) async fn publish(
    runner: &Runner,
    rows: &[&ClaimedRow],
    envelopes: &[Envelope],
    outcomes: &mut [Outcome],
) {
    let (mut places, mut letters) = (Vec::new(), Vec::new());
    for (place, ((row, envelope), outcome)) in rows.iter().zip(envelopes).zip(&*outcomes).enumerate() {
        let Some(failure) = outcome.failure() else { continue };
        let ends =
            matches!(decide::transition(runner, row, outcome), Transition::Dead | Transition::Rejected);
        if !ends {
            continue;
        }
        if let Some(letter) =
            runner.lane.composer.dead_letter(envelope, &compact(&failure.reason, REASON_LIMIT))
        {
            places.push(place);
            letters.push(letter);
        }
    }
    if letters.is_empty() {
        return;
    }
    // The delivery itself is over: the dead letter gets its own time before the watchdog reports the lane as stalled.
    runner.note_progress();
    let results = send_all(runner, &letters).await;
    for (place, result) in places.into_iter().zip(results) {
        count(runner, &result);
        if let (Some(unsent), Some(failure)) = (result.failure(), outcomes[place].failure_mut()) {
            failure.reason = format!("{} (dead letter not sent: {})", failure.reason, unsent.reason);
        }
    }
}

fn count(runner: &Runner, result: &Outcome) {
    let outcome = if matches!(result, Outcome::Delivered(_)) { "published" } else { "failed" };
    let lane = runner.state.name.clone();
    metrics::counter!("postrider_dead_letters_total", "lane" => lane, "outcome" => outcome).increment(1);
}
