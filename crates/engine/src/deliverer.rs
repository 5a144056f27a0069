//! Composes and delivers: takes waiting rows in batches that suit the transport, and passes their outcomes on.
//!
//! Invariant: every row taken here is pushed to `ended` exactly once, whatever the composer or the transport does.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use postrider_seams::{Claimed, Envelope, Failure, Outcome};
use tokio::time::Instant;

use crate::batch::{HeldRow, LeaseRef};
use crate::begin::{Mark, begin};
use crate::ended::Ended;
use crate::runner::Runner;
use crate::suspect::{self, is_suspect};
use crate::waiting::{Portion, Taken};
use crate::{decide, large, letters, ordered, prober};

/// The minimum time left on a lease when a delivery begins; a quarter of the lease if leases are short.
const LEASE_MARGIN: Duration = Duration::from_secs(2);

/// The maximum number of times that rows are marked again before they are sent, if each mark was too old once the store
/// had answered. After that, only the end of the lease by our own clock decides.
pub(crate) const MARKS: u32 = 3;

/// The time that a transport has beyond its deadline before its call is aborted.
pub(crate) const GRACE: Duration = Duration::from_secs(5);

pub(crate) async fn run(runner: Arc<Runner>) {
    let workers = runner.workers();
    loop {
        let can = runner.transport.capabilities();
        let most = runner.pace.share(can.batch);
        let portion = Portion { most, workers, whole_runs: can.keeps_order };
        let Some((taken, _under_way)) = runner.waiting.take(portion).await else { return };
        let rows = match taken {
            Taken::Runs(runs) => {
                ordered::deliver(&runner, runs, most).await;
                continue;
            }
            Taken::Rows(rows) => rows,
        };
        let (inline, large): (Vec<_>, Vec<_>) = rows.into_iter().partition(|row| row.row.fields.is_some());
        deliver(&runner, inline).await;
        large::deliver(&runner, large).await;
    }
}

pub(crate) async fn deliver(runner: &Runner, rows: Vec<HeldRow>) {
    if rows.is_empty() {
        return;
    }
    let (suspects, rows): (Vec<_>, Vec<_>) = rows.into_iter().partition(|held| is_suspect(&held.row));
    deliver_beside_others(runner, rows).await;
    let mut later = Vec::new();
    for held in suspects {
        match suspect::alone(runner, &held.row).await {
            Ok(alone) => alone.run(runner, deliver_rows(runner, vec![held])).await,
            Err(outcome) => later.push(decide::ended(runner, held, None, outcome)),
        }
    }
    if !later.is_empty() {
        suspect::put_off(runner).await;
        runner.ended.push(later);
    }
}

/// Delivers rows that are no suspects. While the lane is on trial, one row is delivered alone first.
async fn deliver_beside_others(runner: &Runner, mut rows: Vec<HeldRow>) {
    if runner.state.is_on_trial() {
        let _only = suspect::only_in_lane(runner).await;
        // The previous row may have ended the trial.
        if runner.state.is_on_trial() && !rows.is_empty() {
            let others = rows.split_off(1);
            deliver_rows(runner, rows).await;
            rows = others;
        }
    }
    if !rows.is_empty() {
        let _among = suspect::among(runner).await;
        deliver_rows(runner, rows).await;
    }
}

/// Delivers rows in one call of the transport.
async fn deliver_rows(runner: &Runner, rows: Vec<HeldRow>) {
    let rows = if runner.state.is_open() { keep_safe(runner, rows) } else { release(runner, rows) };
    let (rows, mark) = marked(runner, rows).await;
    let Some(mark) = mark else { return };
    let (rows, leases): (Vec<Claimed>, Vec<LeaseRef>) =
        rows.into_iter().map(|held| (held.row, held.lease)).unzip();
    let composed = compose(runner, &rows).await;
    let mut ended = Vec::new();
    let mut ready = Vec::with_capacity(rows.len());
    let mut envelopes = Vec::with_capacity(rows.len());
    for ((row, lease), result) in rows.into_iter().zip(leases).zip(composed) {
        let held = HeldRow { row, lease };
        match result {
            Ok(envelope) => {
                envelopes.push(Envelope { lease: held.lease.check(margin(runner)), ..envelope });
                ready.push(held);
            }
            Err(outcome) => ended.push(decide::ended(runner, held, None, outcome)),
        }
    }
    // Rows that cannot be composed are settled at once; they need not wait for the delivery of the others.
    runner.ended.push(ended);
    let mut mark = mark;
    for _ in 0..MARKS {
        if ready.is_empty() || mark.is_fresh(runner) {
            break;
        }
        (ready, envelopes, mark) = marked_again(runner, ready, envelopes).await;
    }
    if ready.is_empty() {
        return;
    }
    let mut outcomes = send(runner, &envelopes).await;
    prober::note(runner, &envelopes, &mut outcomes).await;
    letters::publish(runner, &ready.iter().collect::<Vec<_>>(), &envelopes, &mut outcomes).await;
    let ended = ready
        .into_iter()
        .zip(envelopes)
        .zip(outcomes)
        .map(|((held, envelope), outcome)| decide::ended(runner, held, Some(envelope), outcome))
        .collect();
    runner.ended.push(ended);
}

/// Marks the rows as begun and hands back those that have lost their lease. Returns no mark if no row is left.
async fn marked(runner: &Runner, rows: Vec<HeldRow>) -> (Vec<HeldRow>, Option<Mark>) {
    if rows.is_empty() {
        return (rows, None);
    }
    let leases: Vec<LeaseRef> = rows.iter().map(|held| held.lease.clone()).collect();
    let (held, mark) = begin(runner, &leases).await;
    let (held, lost): (Vec<_>, Vec<_>) = rows.into_iter().zip(held).partition(|(_, is_held)| *is_held);
    release(runner, lost.into_iter().map(|(row, _)| row).collect());
    let held: Vec<HeldRow> = held.into_iter().map(|(row, _)| row).collect();
    let mark = (!held.is_empty()).then_some(mark);
    (held, mark)
}

/// Marks rows once more if composing took long or the process was suspended meanwhile.
async fn marked_again(
    runner: &Runner,
    rows: Vec<HeldRow>,
    envelopes: Vec<Envelope>,
) -> (Vec<HeldRow>, Vec<Envelope>, Mark) {
    let leases: Vec<LeaseRef> = rows.iter().map(|held| held.lease.clone()).collect();
    let (held, mark) = begin(runner, &leases).await;
    let all = rows.into_iter().zip(envelopes).zip(held);
    let (held, lost): (Vec<_>, Vec<_>) = all.partition(|(_, is_held)| *is_held);
    release(runner, lost.into_iter().map(|((row, _), _)| row).collect());
    let (rows, envelopes) = held.into_iter().map(|(pair, _)| pair).unzip();
    (rows, envelopes, mark)
}

/// Returns the minimum time left on a lease when a delivery begins.
pub(crate) fn margin(runner: &Runner) -> Duration {
    LEASE_MARGIN.min(runner.store.capabilities().lease / 4)
}

/// Hands back rows whose lease was lost or ends too soon to begin: another worker may have them by now.
fn keep_safe(runner: &Runner, rows: Vec<HeldRow>) -> Vec<HeldRow> {
    let margin = margin(runner);
    let (safe, late) = rows.into_iter().partition(|row| row.lease.may_begin(margin));
    release(runner, late);
    safe
}

/// Hands rows back that were never tried: this costs no attempt.
fn release(runner: &Runner, rows: Vec<HeldRow>) -> Vec<HeldRow> {
    runner.ended.push(rows.into_iter().map(|row| Ended::released(row.lease)).collect());
    Vec::new()
}

/// Composes the batch. After a panic, composes row by row, so that one bad row does not fail the others.
pub(crate) async fn compose(runner: &Runner, rows: &[Claimed]) -> Vec<Result<Envelope, Outcome>> {
    let composer = &runner.lane.composer;
    match AssertUnwindSafe(composer.compose(rows)).catch_unwind().await {
        Ok(composed) if composed.len() == rows.len() => composed,
        Ok(_) => rows.iter().map(|_| Err(broken("the composer lost count of its rows"))).collect(),
        Err(_) if rows.len() == 1 => vec![Err(broken("the composer failed on this row; see the log"))],
        Err(_) => {
            let mut composed = Vec::with_capacity(rows.len());
            for row in rows {
                let one = AssertUnwindSafe(composer.compose(std::slice::from_ref(row))).catch_unwind().await;
                let result = one.ok().and_then(|mut one| one.pop());
                composed.push(
                    result.unwrap_or_else(|| Err(broken("the composer failed on this row; see the log"))),
                );
            }
            composed
        }
    }
}

fn broken(reason: &str) -> Outcome {
    Outcome::Rejected(Failure::new(reason))
}

/// Sends, and returns one outcome per envelope whatever the transport does. An envelope without an answer is uncertain.
pub(crate) async fn send(runner: &Runner, envelopes: &[Envelope]) -> Vec<Outcome> {
    runner.transport.look_up_missing(envelopes).await;
    let started = Instant::now();
    let deadline = started + runner.lane.limits.timeout;
    let sending = AssertUnwindSafe(runner.transport.deliver(envelopes, deadline)).catch_unwind();
    let reason = match tokio::time::timeout_at(deadline + GRACE, sending).await {
        Ok(Ok(outcomes)) if outcomes.len() == envelopes.len() => {
            runner.pace.note(started.elapsed(), envelopes.len());
            return outcomes;
        }
        Ok(Ok(_)) => "the transport lost count of its envelopes",
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
