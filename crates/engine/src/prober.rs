//! Protects the backlog from a target that is away or refuses our credentials (rules G1, G3): the lane stops claiming,
//! hands back rows it has not tried, probes with backoff, and resumes automatically.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use postrider_contract::Uncertain;
use postrider_seams::{Envelope, Failure, Outcome, transport};

use crate::first_breaks::AFTER_BREAK;
use crate::missing_acks::UNACKED_RETRY_DELAY;
use crate::runner::Runner;
use crate::state::{Phase, TargetTrouble};

/// The number of consecutive connection failures after which the target counts as away.
const UNREACHABLE_AFTER: u32 = 5;

const MIN_RETRY_DELAY: Duration = Duration::from_secs(1);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(30);

/// The number of waits without a row to try after which a trial ends as passed: the rows to try are gone.
const IDLE_TRIAL: u32 = 10;

/// Checks the outcomes of a delivery for signs of trouble, and changes those that must not cost their rows an attempt.
pub(crate) async fn note(runner: &Runner, envelopes: &[Envelope], outcomes: &mut [Outcome]) {
    for (envelope, outcome) in envelopes.iter().zip(&*outcomes) {
        note_one(runner, outcome);
        if matches!(outcome, Outcome::Delivered(_) | Outcome::Rejected(_) | Outcome::Skipped(_)) {
            runner.first_breaks.forget(&envelope.row);
        }
    }
    if republishes(runner) {
        runner.missing_acks.note(envelopes, outcomes);
    }
    refund_attempts(runner, envelopes, outcomes).await;
}

fn note_one(runner: &Runner, outcome: &Outcome) {
    let in_a_row = &runner.unreachable_in_a_row;
    if needs_probe(outcome) {
        runner.probe_requested.notify_one();
    }
    match outcome {
        Outcome::Refused(failure) => trouble(runner, TargetTrouble::Refused(failure.reason.clone())),
        Outcome::Retryable(failure) if failure.unreachable => {
            if in_a_row.fetch_add(1, Relaxed) + 1 >= UNREACHABLE_AFTER {
                trouble(runner, TargetTrouble::Unreachable(failure.reason.clone()));
            }
        }
        // Not tried, or not answered: this says nothing about whether the target is up.
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

/// Whether the target may be gone. A probe then finds out before rows with few attempts have used them up.
fn needs_probe(outcome: &Outcome) -> bool {
    match outcome {
        Outcome::Uncertain(_) => true,
        Outcome::Retryable(failure) => failure.unreachable,
        _ => false,
    }
}

/// Spares rows of which nothing was sent while the target is away (rule G1). After a connection that failed or broke,
/// the target is probed. If it is away, these rows are handed back at no cost. If it is up, it may have been restarted:
/// [`FirstBreaks`](crate::first_breaks::FirstBreaks) decides whether the failure counts as an attempt. A record that a
/// broker did not acknowledge is handed back as well, to be published again under the same id (rule O2); if the broker
/// answers the probe, [`MissingAcks`](crate::missing_acks::MissingAcks) decides whether it counts.
async fn refund_attempts(runner: &Runner, envelopes: &[Envelope], outcomes: &mut [Outcome]) {
    let republishes = republishes(runner);
    let unanswered = |outcome: &Outcome| match outcome {
        Outcome::Retryable(failure) => failure.unreachable && !failure.accepted_now,
        Outcome::Uncertain(_) => republishes,
        _ => false,
    };
    if !outcomes.iter().any(unanswered) {
        return;
    }
    if !is_away(runner) {
        short_probe(runner).await;
    }
    let was_away = is_away(runner);
    if !was_away && republishes && runner.missing_acks.is_silent() {
        let reason = "the target answers, but acknowledges nothing";
        trouble(runner, TargetTrouble::Unreachable(reason.to_owned()));
    }
    for (envelope, outcome) in envelopes.iter().zip(outcomes) {
        match outcome {
            // Recipients that accepted it in an earlier attempt stay recorded: a deferral changes no record.
            Outcome::Retryable(failure) if was_away && failure.unreachable && !failure.accepted_now => {
                *outcome = Outcome::Deferred(std::mem::take(failure));
            }
            Outcome::Retryable(failure)
                if failure.unreachable
                    && !failure.accepted_now
                    && !runner.first_breaks.is_attempt(&envelope.row) =>
            {
                let after = failure.after.unwrap_or_default().max(AFTER_BREAK);
                *outcome = Outcome::Deferred(Failure { after: Some(after), ..std::mem::take(failure) });
            }
            Outcome::Uncertain(failure) if republishes && was_away => {
                *outcome = Outcome::Deferred(std::mem::take(failure));
            }
            Outcome::Uncertain(failure)
                if republishes && (is_away(runner) || !runner.missing_acks.is_attempt(&envelope.row)) =>
            {
                *outcome = Outcome::Deferred(Failure {
                    after: Some(UNACKED_RETRY_DELAY),
                    ..std::mem::take(failure)
                });
            }
            _ => {}
        }
    }
}

fn is_away(runner: &Runner) -> bool {
    runner.state.has_target_trouble() && !runner.state.is_on_trial()
}

/// Whether the target is a broker to which an unacknowledged record is published again.
fn republishes(runner: &Runner) -> bool {
    is_broker(runner) && runner.stage().uncertain == Uncertain::Retry
}

/// Whether the target can be probed cheaply, over a connection that is open anyway.
fn is_broker(runner: &Runner) -> bool {
    runner.transport.capabilities().idle_probe_interval.is_some()
}

fn trouble(runner: &Runner, trouble: TargetTrouble) {
    if is_away(runner) {
        return;
    }
    match &trouble {
        TargetTrouble::Unreachable(reason) if runner.state.is_on_trial() => {
            tracing::debug!(lane = runner.state.name, reason, "the row on trial was not accepted");
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

async fn probe_and_record(runner: &Runner) {
    match runner.transport.probe().await {
        Ok(()) => {}
        Err(transport::Error::Unreachable(reason)) => trouble(runner, TargetTrouble::Unreachable(reason)),
        Err(transport::Error::Refused(reason)) => trouble(runner, TargetTrouble::Refused(reason)),
    }
}

/// Time limit of a short probe: a target that does not answer by then counts as away.
const SHORT_PROBE_TIMEOUT: Duration = Duration::from_secs(4);

/// Probes the target with a short time limit: a target that hangs counts as away.
async fn short_probe(runner: &Runner) {
    if tokio::time::timeout(SHORT_PROBE_TIMEOUT, probe_and_record(runner)).await.is_err() {
        let reason = format!("no answer within {} s", SHORT_PROBE_TIMEOUT.as_secs());
        trouble(runner, TargetTrouble::Unreachable(reason));
    }
}

fn is_back(runner: &Runner) {
    runner.unreachable_in_a_row.store(0, Relaxed);
    runner.state.set_target(None);
    tracing::info!(lane = runner.state.name, "the target is back; the lane goes on");
}

/// Probes a target that is away. If it answers but acknowledged nothing before, a trial begins with one row at a time.
async fn probe(runner: &Runner) {
    match runner.transport.probe().await {
        Ok(()) if runner.missing_acks.is_silent() => {
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

/// Probes the target at the start, so that a lane whose target is away reports it before it has a row; after every sign
/// that the target may be gone; and, while nothing is sent, as often as the transport requests. While there is trouble,
/// probes until the target accepts deliveries again.
pub(crate) async fn run(runner: Arc<Runner>) {
    let mut changed = runner.state.subscribe();
    let every = runner.transport.capabilities().idle_probe_interval;
    let max_delay = every.unwrap_or(MAX_RETRY_DELAY);
    probe_and_record(&runner).await;
    loop {
        let mut delay = MIN_RETRY_DELAY;
        let mut idle = 0;
        while runner.state.has_target_trouble() && runner.state.phase() == Phase::Running {
            tokio::time::sleep(delay.mul_f64(1.0 + 0.2 * runner.dice.roll())).await;
            delay = (delay * 2).min(max_delay);
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
            () = runner.probe_requested.notified() => {
                probe_and_record(&runner).await;
                // Many signs are answered by one probe, and at most one per second.
                tokio::time::sleep(MIN_RETRY_DELAY).await;
            }
            () = tokio::time::sleep(every.unwrap_or_default()), if every.is_some() => {
                let quiet = every.is_some_and(|every| runner.since_progress() >= every);
                if quiet && runner.state.phase() == Phase::Running {
                    short_probe(&runner).await;
                }
            }
        }
    }
}
