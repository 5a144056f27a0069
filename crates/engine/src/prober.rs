//! Protects the backlog from a target that is away or refuses us (rules G1, G3): the lane stops claiming, hands back
//! what it has not tried, probes with backoff, and goes on by itself.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_contract::Uncertain;
use postrider_seams::{Envelope, Failure, Outcome, transport};

use crate::runner::Runner;
use crate::silence::LATER;
use crate::state::{Phase, TargetTrouble};

/// So many connection-level failures in a row mean that the target is away.
const UNREACHABLE_AFTER: u32 = 5;

const FIRST_WAIT: Duration = Duration::from_secs(1);
const LONGEST_WAIT: Duration = Duration::from_secs(30);

/// After so many waits without a row to try, a lane on trial is taken to be well: its rows are gone.
const IDLE_TRIAL: u32 = 10;

/// Looks for signs of trouble at the outcomes of a delivery, and changes those that must cost their rows nothing.
pub(crate) async fn note(runner: &Runner, envelopes: &[Envelope], outcomes: &mut [Outcome]) {
    for outcome in &*outcomes {
        note_one(runner, outcome);
    }
    if repeats(runner) {
        runner.silence.note(envelopes, outcomes);
    }
    spare(runner, envelopes, outcomes).await;
}

fn note_one(runner: &Runner, outcome: &Outcome) {
    let in_a_row = &runner.unreachable_in_a_row;
    if is_doubtful(outcome) {
        runner.doubt.notify_one();
    }
    match outcome {
        Outcome::Refused(failure) => trouble(runner, TargetTrouble::Refused(failure.reason.clone())),
        Outcome::Retryable(failure) if failure.unreachable => {
            if in_a_row.fetch_add(1, Relaxed) + 1 >= UNREACHABLE_AFTER {
                trouble(runner, TargetTrouble::Unreachable(failure.reason.clone()));
            }
        }
        // Never tried, or never answered: no sign that the target is there.
        Outcome::Deferred(_) | Outcome::Uncertain(_) => {}
        Outcome::Delivered(_) => {
            in_a_row.store(0, Relaxed);
            if runner.state.is_on_trial() {
                is_back(runner);
            }
        }
        Outcome::Retryable(_) | Outcome::Rejected(_) | Outcome::Skipped(_) => in_a_row.store(0, Relaxed),
    }
}

/// May the target be gone? One look at it then tells before rows with few attempts have spent them all.
fn is_doubtful(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Uncertain(_) => true,
        Outcome::Retryable(failure) => failure.unreachable,
        _ => false,
    }
}

/// Rows of which nothing was sent cost nothing while the target is away (rule G1): a connection that could not be had, or that
/// broke, is followed by a look at the target. If it is away, these rows are handed back. If it is there, the failure is
/// an attempt as any other. A record that a broker did not acknowledge is handed back as well, to be published again under
/// the same id (rule O2); if the broker answers the look, [`Silence`](crate::silence::Silence) says what it costs.
async fn spare(runner: &Runner, envelopes: &[Envelope], outcomes: &mut [Outcome]) {
    let repeats = repeats(runner);
    let unanswered = |outcome: &Outcome| match outcome {
        Outcome::Retryable(failure) => failure.unreachable && !failure.accepted_now,
        Outcome::Uncertain(_) => repeats,
        _ => false,
    };
    if !outcomes.iter().any(unanswered) {
        return;
    }
    if !is_away(runner) {
        glance(runner).await;
    }
    let was_away = is_away(runner);
    if !was_away && repeats && runner.silence.is_silent() {
        let reason = "the target answers, but acknowledges nothing";
        trouble(runner, TargetTrouble::Unreachable(reason.to_owned()));
    }
    for (envelope, outcome) in envelopes.iter().zip(outcomes) {
        match outcome {
            Outcome::Retryable(failure) if was_away && failure.unreachable && !failure.partly => {
                *outcome = Outcome::Deferred(std::mem::take(failure));
            }
            Outcome::Uncertain(failure) if repeats && was_away => {
                *outcome = Outcome::Deferred(std::mem::take(failure));
            }
            Outcome::Uncertain(failure)
                if repeats && (is_away(runner) || !runner.silence.is_attempt(&envelope.row)) =>
            {
                *outcome = Outcome::Deferred(Failure { after: Some(LATER), ..std::mem::take(failure) });
            }
            _ => {}
        }
    }
}

fn is_away(runner: &Runner) -> bool {
    runner.state.has_target_trouble() && !runner.state.is_on_trial()
}

/// Is this a broker, to which a record without an acknowledgement is published again?
fn repeats(runner: &Runner) -> bool {
    is_broker(runner) && runner.stage().uncertain == Uncertain::Retry
}

/// Is this a target that is probed cheaply, over a connection that is kept anyway?
fn is_broker(runner: &Runner) -> bool {
    runner.transport.capabilities().look_every.is_some()
}

fn trouble(runner: &Runner, trouble: TargetTrouble) {
    if is_away(runner) {
        return;
    }
    match &trouble {
        TargetTrouble::Unreachable(reason) if runner.state.is_on_trial() => {
            tracing::debug!(lane = runner.state.name, reason, "the row on trial was not taken");
        }
        TargetTrouble::Unreachable(reason) => {
            tracing::warn!(
                lane = runner.state.name,
                reason,
                "the target can't be reached; the lane waits and probes"
            );
        }
        TargetTrouble::Refused(reason) => {
            tracing::error!(
                lane = runner.state.name,
                reason,
                "the target refuses us; the lane waits and probes"
            );
        }
    }
    runner.state.set_target(Some(trouble));
    runner.release_waiting();
}

async fn look(runner: &Runner) {
    match runner.transport.probe().await {
        Ok(()) => {}
        Err(transport::Error::Unreachable(reason)) => trouble(runner, TargetTrouble::Unreachable(reason)),
        Err(transport::Error::Refused(reason)) => trouble(runner, TargetTrouble::Refused(reason)),
    }
}

/// A target that shows no sign of life counts as away after this long.
const GLANCE: Duration = Duration::from_secs(4);

/// A short look at the target: one that hangs is as good as away.
async fn glance(runner: &Runner) {
    if tokio::time::timeout(GLANCE, look(runner)).await.is_err() {
        let reason = format!("no answer within {} s", GLANCE.as_secs());
        trouble(runner, TargetTrouble::Unreachable(reason));
    }
}

fn is_back(runner: &Runner) {
    runner.unreachable_in_a_row.store(0, Relaxed);
    runner.state.set_target(None);
    tracing::info!(lane = runner.state.name, "the target is back; the lane goes on");
}

/// Asks a target that is away. One that answers, and acknowledged nothing before, is tried with one row at a time.
async fn probe(runner: &Runner) {
    match runner.transport.probe().await {
        Ok(()) if runner.silence.is_silent() => {
            runner.state.begin_trial();
            tracing::debug!(lane = runner.state.name, "the target answers; one row is tried");
        }
        Ok(()) => is_back(runner),
        Err(transport::Error::Unreachable(reason)) => {
            runner.state.set_target(Some(TargetTrouble::Unreachable(reason)));
        }
        Err(transport::Error::Refused(reason)) => {
            runner.state.set_target(Some(TargetTrouble::Refused(reason)));
        }
    }
}

/// Looks at the target at the start, so that a lane whose target is away says so before it has a row, after every
/// sign that it may be gone, and while nothing is sent as often as the transport says; then probes while there is trouble,
/// until the target takes us again.
pub(crate) async fn run(runner: Arc<Runner>) {
    let mut changed = runner.state.subscribe();
    let every = runner.transport.capabilities().look_every;
    let longest_wait = every.unwrap_or(LONGEST_WAIT);
    look(&runner).await;
    loop {
        let mut wait = FIRST_WAIT;
        let mut idle = 0;
        while runner.state.has_target_trouble() && runner.state.phase() == Phase::Running {
            tokio::time::sleep(wait.mul_f64(1.0 + 0.2 * runner.dice.roll())).await;
            wait = (wait * 2).min(longest_wait);
            idle = if runner.state.is_on_trial() && runner.state.held() == 0 { idle + 1 } else { 0 };
            if idle > IDLE_TRIAL {
                is_back(&runner);
            } else if !runner.state.is_on_trial() {
                probe(&runner).await;
            }
        }
        tokio::select! {
            biased;
            changed = changed.changed() => if changed.is_err() {
                return;
            },
            () = runner.doubt.notified() => {
                look(&runner).await;
                // Many doubts are worth one look, and one a second at most.
                tokio::time::sleep(FIRST_WAIT).await;
            }
            () = tokio::time::sleep(every.unwrap_or_default()), if every.is_some() => {
                let quiet = every.is_some_and(|every| runner.since_progress() >= every);
                if quiet && runner.state.phase() == Phase::Running {
                    glance(&runner).await;
                }
            }
        }
    }
}
