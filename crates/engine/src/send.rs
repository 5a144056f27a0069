//! Passes envelopes to the transport, within the lane's time limit, and guards against a transport that panics, hangs
//! or loses count.
//!
//! A call may take long because of a few envelopes: a broker acknowledges most records at once and one never. What was
//! delivered in the meantime is settled while the call goes on, so that a crash repeats as little as possible.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::FutureExt;
use postrider_seams::{Envelope, Failure, Outcome};
use tokio::sync::mpsc;
use tokio::time::{Instant, MissedTickBehavior};

use crate::runner::Runner;

/// The time that a transport has beyond its deadline before its call is aborted.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

/// The time between two checks for envelopes that a call has delivered already. A call that ends earlier is settled as
/// a whole, which makes full batches.
const EARLY: Duration = Duration::from_millis(100);

/// Sends, and returns one outcome per envelope whatever the transport does. An envelope without an answer is uncertain,
/// unless the transport has reported it as delivered before it failed. Calls `settle` with the outcomes known so far,
/// while the call goes on and once it is over.
pub(crate) async fn send(
    runner: &Runner,
    envelopes: &mut [Envelope],
    mut settle: impl FnMut(&[Envelope], &[Option<Outcome>]),
) -> Vec<Outcome> {
    let (report, mut delivered) = mpsc::unbounded_channel();
    for (index, envelope) in envelopes.iter_mut().enumerate() {
        let report = report.clone();
        envelope.lease = std::mem::take(&mut envelope.lease).reporting(move |receipt| {
            // The receiver is gone once the call has ended.
            let _ = report.send((index, receipt));
        });
    }
    let envelopes = &*envelopes;
    let mut outcomes: Vec<Option<Outcome>> = vec![None; envelopes.len()];
    let mut sending = std::pin::pin!(send_all(runner, envelopes));
    let mut check = tokio::time::interval_at(Instant::now() + EARLY, EARLY);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        let answers = tokio::select! {
            biased;
            answers = &mut sending => Some(answers),
            _ = check.tick() => None,
        };
        let is_over = answers.is_some();
        while let Ok((index, receipt)) = delivered.try_recv() {
            outcomes[index] = Some(Outcome::Delivered(receipt));
        }
        for (outcome, answer) in outcomes.iter_mut().zip(answers.into_iter().flatten()) {
            // What was reported counts, even if the call failed later.
            outcome.get_or_insert(answer);
        }
        settle(envelopes, &outcomes);
        if is_over {
            return outcomes.into_iter().flatten().collect();
        }
    }
}

/// Sends envelopes whose outcomes are only needed at the end.
pub(crate) async fn send_all(runner: &Runner, envelopes: &[Envelope]) -> Vec<Outcome> {
    runner.transport.look_up_missing(envelopes).await;
    let started = Instant::now();
    let deadline = started + runner.lane.limits.timeout;
    let sending = AssertUnwindSafe(runner.transport.deliver(envelopes, deadline)).catch_unwind();
    let answer = tokio::time::timeout_at(deadline + GRACE, sending).await;
    runner.calls_ahead.note_call(started.elapsed());
    let reason = match answer {
        Ok(Ok(outcomes)) if outcomes.len() == envelopes.len() => {
            runner.call_size.note(started.elapsed(), envelopes.len());
            return outcomes;
        }
        Ok(Ok(_)) => "the transport returned a wrong number of results",
        Ok(Err(_)) => "the transport failed on this batch; see the log",
        Err(_) => "no answer in time",
    };
    tracing::error!(
        lane = runner.state.name,
        reason,
        rows = envelopes.len(),
        "delivery gave no usable answer"
    );
    envelopes.iter().map(|_| Outcome::Uncertain(Failure::new(reason))).collect()
}
