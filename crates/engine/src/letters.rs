//! Dead letters: what ends undelivered is told of at the place that the composer knows, before the row is settled.
//!
//! Owns: one try to send each letter. Must not: change what becomes of the row: it ends in its dead state whether the
//! letter went or not, where an operator finds it. Invariant: nothing waits for a letter longer than for a delivery,
//! and a letter that could not be sent is in the row's reason.

use postrider_contract::Transition;
use postrider_seams::{Envelope, Outcome};

use crate::batch::HeldRow;
use crate::decide::{self, REASON_LIMIT, compact};
use crate::deliverer::send;
use crate::runner::Runner;

/// Sends a letter for each row that these outcomes end.
pub(crate) async fn publish(
    runner: &Runner,
    rows: &[&HeldRow],
    envelopes: &[Envelope],
    outcomes: &mut [Outcome],
) {
    let (mut places, mut letters) = (Vec::new(), Vec::new());
    for (place, ((held, envelope), outcome)) in rows.iter().zip(envelopes).zip(&*outcomes).enumerate() {
        let Some(failure) = outcome.failure() else { continue };
        let ends =
            matches!(decide::transition(runner, held, outcome), Transition::Dead | Transition::Rejected);
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
    // The delivery itself is over: the letter has its own time before the watchdog calls the lane stalled.
    runner.note_progress();
    let told = send(runner, &letters).await;
    for (place, told) in places.into_iter().zip(told) {
        count(runner, &told);
        if let (Some(unsent), Some(failure)) = (told.failure(), outcomes[place].failure_mut()) {
            failure.reason = format!("{} (no dead letter: {})", failure.reason, unsent.reason);
        }
    }
}

fn count(runner: &Runner, told: &Outcome) {
    let outcome = if matches!(told, Outcome::Delivered(_)) { "published" } else { "failed" };
    let lane = runner.state.name.clone();
    metrics::counter!("postrider_dead_letters_total", "lane" => lane, "outcome" => outcome).increment(1);
}
