//! Delivers ordered runs: rows of one group, in order, never by two deliveries at once.
//!
//! If the transport keeps the order within a call, a run is sent in one call (pipelined). Otherwise each call carries
//! one row of the run, together with rows of other groups, and the rest of the run goes back to the end of the queue,
//! so that no group waits for the whole of another. A failure that blocks the group ends the run: the failed row is
//! settled together with the rest, which is handed back. If later rows of a pipelined call were accepted although an
//! earlier one failed, they count as delivered: the guarantee is then that each row was first sent in order.
//! Invariant: every row given to this module is pushed to `ended` or back to `waiting` exactly once.

use std::collections::VecDeque;

use postrider_contract::Transition;
use postrider_seams::store::Class;
use postrider_seams::{Claimed, Envelope, Outcome};
use tokio::sync::SemaphorePermit;

use crate::batch::{HeldRow, LeaseRef};
use crate::begin::{Mark, begin};
use crate::deliverer::{MARKS, compose, margin, send};
use crate::ended::Ended;
use crate::large::{self, UNREADABLE};
use crate::runner::Runner;
use crate::suspect::{self, is_suspect};
use crate::waiting::Run;
use crate::{decide, letters, prober};

/// The rows of a run that are delivered now, and the rest of the run.
struct Under<'a> {
    now: Vec<(HeldRow, Part)>,
    rest: Run,
    /// The byte budget that a large row uses.
    _bytes: Option<SemaphorePermit<'a>>,
}

/// The progress of one row of a run.
enum Part {
    /// Not yet composed.
    Fresh,
    Composed(Envelope),
    /// Not composed, or not to be delivered now; with the reason.
    Failed(Outcome),
    Sent(Envelope, Outcome),
}

/// Delivers the next rows of each run, at most `most` in one call; a suspect is delivered alone.
pub(crate) async fn deliver(runner: &Runner, runs: Vec<Run>, most: usize) {
    let starts_with_suspect = |run: &Run| run.front().is_some_and(|held| is_suspect(&held.row));
    let (suspects, runs): (Vec<Run>, Vec<Run>) = runs.into_iter().partition(starts_with_suspect);
    deliver_beside_others(runner, runs, most).await;
    let mut later = Vec::new();
    for mut run in suspects {
        let Some(first) = run.pop_front() else { continue };
        match suspect::alone(runner, &first.row).await {
            Ok(alone) => {
                run.push_front(first);
                alone.run(runner, deliver_runs(runner, vec![run], 1)).await;
            }
            Err(outcome) => {
                later.push(Under { now: vec![(first, Part::Failed(outcome))], rest: run, _bytes: None });
            }
        }
    }
    if !later.is_empty() {
        suspect::put_off(runner).await;
        for under in later {
            finish(runner, under);
        }
    }
}

/// Delivers runs that do not start with a suspect. While the lane is on trial, one row is delivered alone first.
async fn deliver_beside_others(runner: &Runner, mut runs: Vec<Run>, most: usize) {
    if runner.state.is_on_trial() {
        let _only = suspect::only_in_lane(runner).await;
        // The previous row may have ended the trial.
        if runner.state.is_on_trial() && !runs.is_empty() {
            let others = runs.split_off(1);
            deliver_runs(runner, runs, 1).await;
            runs = others;
        }
    }
    if !runs.is_empty() {
        let _among = suspect::among(runner).await;
        deliver_runs(runner, runs, most).await;
    }
}

/// Delivers the next rows of each run in one call.
async fn deliver_runs(runner: &Runner, runs: Vec<Run>, most: usize) {
    let mut under = Vec::with_capacity(runs.len());
    let mut room = most.max(1);
    for run in runs {
        // A large row is delivered alone: two that hold part of the byte budget and wait for more could deadlock.
        let large = run.front().is_some_and(|held| held.row.fields.is_none());
        if room == 0 || (large && !under.is_empty()) {
            runner.waiting.put_back(run);
        } else if let Some(chosen) = choose(runner, run, room).await {
            room = if large { 0 } else { room - chosen.now.len() };
            under.push(chosen);
        }
    }
    let mut mark = mark(runner, &mut under).await;
    if mark.is_some() {
        compose_all(runner, &mut under).await;
        for _ in 0..MARKS {
            if mark.is_none_or(|mark| mark.is_fresh(runner)) {
                break;
            }
            mark = self::mark(runner, &mut under).await;
        }
        send_all(runner, &mut under).await;
    }
    for under in under {
        finish(runner, under);
    }
}

/// Returns a move that hands back a whole run, unspent; `None` for an empty run.
pub(crate) fn give_back(run: Run) -> Option<Ended> {
    let mut leases = run.into_iter().map(|held| held.lease);
    let first = leases.next()?;
    Some(Ended { rest: leases.collect(), ..Ended::released(first) })
}

/// Marks the current rows as begun. If a row of a run has lost its lease, it is handed back with all rows behind it.
/// Returns no mark if no row is left to send.
async fn mark(runner: &Runner, under: &mut [Under<'_>]) -> Option<Mark> {
    let goes = |part: &Part| matches!(part, Part::Fresh | Part::Composed(_));
    let going = under.iter().flat_map(|under| &under.now).filter(|(_, part)| goes(part));
    let leases: Vec<LeaseRef> = going.map(|(held, _)| held.lease.clone()).collect();
    if leases.is_empty() {
        return None;
    }
    let (held, mark) = begin(runner, &leases).await;
    let mut answers = held.iter();
    for under in &mut *under {
        let answers: Vec<bool> = under
            .now
            .iter()
            .map(|(_, part)| !goes(part) || answers.next().copied().unwrap_or(false))
            .collect();
        if let Some(lost) = answers.iter().position(|is_held| !is_held) {
            let back = under.now.split_off(lost).into_iter().map(|(held, _)| held);
            release(runner, back.chain(std::mem::take(&mut under.rest)).collect());
        }
    }
    held.contains(&true).then_some(mark)
}

/// Chooses the rows to deliver now. `None` if there are none: the run has been handed back.
async fn choose(runner: &Runner, run: Run, room: usize) -> Option<Under<'_>> {
    let mut rest = if runner.state.is_open() { keep_safe(runner, run) } else { release(runner, run) };
    if rest.front()?.row.fields.is_none() {
        return choose_large(runner, rest).await;
    }
    let most = if runner.transport.capabilities().keeps_order { room } else { 1 };
    let alone = rest.front().is_some_and(|held| is_suspect(&held.row));
    let goes = |held: &&HeldRow| held.row.fields.is_some() && (alone || !is_suspect(&held.row));
    let inline = rest.iter().take(if alone { 1 } else { most }).take_while(goes).count();
    let now = rest.drain(..inline).map(|held| (held, Part::Fresh)).collect();
    Some(Under { now, rest, _bytes: None })
}

/// Chooses and loads a row whose fields were too large for the claim; it is delivered alone.
async fn choose_large(runner: &Runner, mut rest: Run) -> Option<Under<'_>> {
    let mut first = rest.pop_front()?;
    if let Some(outcome) = large::too_large(runner, first.row.size) {
        return Some(Under { now: vec![(first, Part::Failed(outcome))], rest, _bytes: None });
    }
    let bytes = runner.room_for(first.row.size).await;
    let loaded = match first.lease.current() {
        Some(lease) => runner.store.load(&[lease]).await.map(|mut loaded| loaded.pop().flatten()),
        None => Ok(None),
    };
    match loaded {
        Ok(Some(fields)) => {
            first.row.fields = Some(fields);
            Some(Under { now: vec![(first, Part::Fresh)], rest, _bytes: bytes })
        }
        Err(error) if error.class == Class::Permanent => {
            let part = Part::Failed(large::unreadable(&error));
            Some(Under { now: vec![(first, part)], rest, _bytes: bytes })
        }
        other => {
            if let Err(error) = other {
                tracing::warn!(lane = runner.state.name, row = %first.row.lease.id, %error, "the row could not be read; handed back");
                tokio::time::sleep(UNREADABLE).await;
            }
            rest.push_front(first);
            release(runner, rest);
            None
        }
    }
}

/// Keeps the rows before the first one whose lease was lost or ends too soon, because another worker may have that row.
/// Hands back the rest.
fn keep_safe(runner: &Runner, mut run: Run) -> Run {
    let margin = margin(runner);
    let safe = run.iter().take_while(|held| held.lease.may_begin(margin)).count();
    release(runner, run.split_off(safe));
    run
}

fn release(runner: &Runner, run: Run) -> Run {
    runner.ended.push(give_back(run).into_iter().collect());
    VecDeque::new()
}

async fn compose_all(runner: &Runner, under: &mut [Under<'_>]) {
    let fresh =
        under.iter_mut().flat_map(|under| &mut under.now).filter(|(_, part)| matches!(part, Part::Fresh));
    let mut fresh: Vec<&mut (HeldRow, Part)> = fresh.collect();
    if fresh.is_empty() {
        return;
    }
    let rows: Vec<Claimed> = fresh.iter().map(|one| one.0.row.clone()).collect();
    for (one, composed) in fresh.iter_mut().zip(compose(runner, &rows).await) {
        one.1 = match composed {
            Ok(envelope) => Part::Composed(Envelope { lease: one.0.lease.check(margin(runner)), ..envelope }),
            Err(outcome) => Part::Failed(outcome),
        };
    }
}

/// Sends the composed rows: of each run, those before the first failure that blocks the group.
async fn send_all(runner: &Runner, under: &mut [Under<'_>]) {
    let mut going: Vec<(&HeldRow, &mut Part)> = Vec::new();
    for under in under {
        for (held, part) in &mut under.now {
            match part {
                Part::Failed(outcome) if holds(runner, held, decide::transition(runner, held, outcome)) => {
                    break;
                }
                Part::Composed(_) => going.push((held, part)),
                Part::Fresh | Part::Failed(_) | Part::Sent(..) => {}
            }
        }
    }
    let envelopes: Vec<Envelope> = going
        .iter()
        .filter_map(|(_, part)| match part {
            Part::Composed(envelope) => Some(envelope.clone()),
            _ => None,
        })
        .collect();
    if envelopes.is_empty() {
        return;
    }
    let mut outcomes = send(runner, &envelopes).await;
    prober::note(runner, &envelopes, &mut outcomes).await;
    let rows: Vec<&HeldRow> = going.iter().map(|(held, _)| *held).collect();
    letters::publish(runner, &rows, &envelopes, &mut outcomes).await;
    for (((_, part), envelope), outcome) in going.into_iter().zip(envelopes).zip(outcomes) {
        *part = Part::Sent(envelope, outcome);
    }
}

/// Settles the rows that were tried. If one blocks its group, all rows behind it that were not accepted go back with
/// it.
fn finish(runner: &Runner, under: Under<'_>) {
    let mut ended: Vec<Ended> = Vec::with_capacity(under.now.len());
    let mut holder: Option<usize> = None;
    let mut back = Vec::new();
    for (held, part) in under.now {
        let on_error = held.row.group.as_ref().map(|group| group.on_error);
        let (envelope, outcome) = match part {
            Part::Sent(envelope, outcome) => (Some(envelope), outcome),
            Part::Failed(outcome) if holder.is_none() => (None, outcome),
            Part::Fresh | Part::Composed(_) | Part::Failed(_) => {
                back.push(held.lease);
                continue;
            }
        };
        let one = decide::ended(runner, held, envelope, outcome);
        let untried = matches!(one.transition, Transition::Deferred | Transition::Released);
        if holder.is_some() && untried {
            back.push(one.lease);
            continue;
        }
        let holds = on_error.is_some_and(|on_error| runner.stage().holds(on_error, one.transition));
        ended.push(one);
        if holds && holder.is_none() {
            holder = Some(ended.len() - 1);
        }
    }
    match holder {
        Some(at) => {
            ended[at].rest = back.into_iter().chain(under.rest.into_iter().map(|held| held.lease)).collect();
        }
        None => runner.waiting.put_back(under.rest),
    }
    runner.ended.push(ended);
}

fn holds(runner: &Runner, held: &HeldRow, transition: Transition) -> bool {
    held.row.group.as_ref().is_some_and(|group| runner.stage().holds(group.on_error, transition))
}
