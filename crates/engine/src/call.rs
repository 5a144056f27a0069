//! One call of the transport: marks its rows as begun, composes and sends them, and passes their outcomes on.
//!
//! Rows without order and rows of ordered groups take the same way. Rows of one group form a part of the call: they are
//! sent in order, and a failure that blocks the group hands back the rows behind the failed one together with it. If
//! later rows of a pipelined call were accepted although an earlier one failed, they count as delivered: the guarantee
//! is then that each row was first sent in order. A row without order is a part of its own.
//! Invariant: every row of a call is pushed to `outcomes` or back to `waiting` exactly once, whatever the composer or
//! the transport does.

use std::collections::VecDeque;
use std::ops::Range;

use postrider_contract::Transition;
use postrider_seams::{ClaimedRow, Envelope, Outcome};
use tokio::sync::SemaphorePermit;

use crate::batch::{HeldRow, LeaseRef};
use crate::begun::{Mark, begin};
use crate::outcomes::DecidedRow;
use crate::runner::Runner;
use crate::waiting::Run;
use crate::{compose, dead_letters, decide, prober, send};

/// The maximum number of times that rows are marked again before they are sent, if each mark was too old once the store
/// had answered. After that, only the end of the lease by our own clock decides.
const MARKS: u32 = 3;

/// The rows of one call.
#[derive(Default)]
pub(crate) struct Call<'a> {
    /// The rows of all parts, one after another; `leases` and `steps` have the same indexes.
    rows: Vec<ClaimedRow>,
    leases: Vec<LeaseRef>,
    steps: Vec<Step>,
    parts: Vec<Part>,
    /// The byte budget that its large rows use.
    bytes: Option<SemaphorePermit<'a>>,
}

/// The progress of one row.
enum Step {
    /// Not yet composed.
    Claimed,
    Composed(Envelope),
    /// Not composed, or not to be delivered now.
    Failed(Outcome),
    Sent(Envelope, Outcome),
    /// Its move is decided and no longer part of this call.
    Done,
}

impl Step {
    /// Whether the row is on its way to the transport.
    fn is_going(&self) -> bool {
        matches!(self, Self::Claimed | Self::Composed(_))
    }
}

/// Rows of one group, or a single row without order.
struct Part {
    rows: Range<usize>,
    /// The rows of the group behind these.
    behind: Run,
}

impl<'a> Call<'a> {
    /// Whether the call has no rows yet.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds the next rows of a group, in order, and the rows behind them.
    pub fn add(&mut self, now: impl IntoIterator<Item = HeldRow>, behind: Run) {
        let start = self.rows.len();
        for held in now {
            self.rows.push(held.row);
            self.leases.push(held.lease);
            self.steps.push(Step::Claimed);
        }
        self.parts.push(Part { rows: start..self.rows.len(), behind });
    }

    /// Keeps the byte budget of its large rows until the call is over.
    pub fn keep_bytes(&mut self, bytes: Option<SemaphorePermit<'a>>) {
        self.bytes = bytes;
    }

    /// Adds a row that is not sent, with its outcome, and the rows of its group behind it.
    pub fn add_failed(&mut self, held: HeldRow, outcome: Outcome, behind: Run) {
        self.add([held], behind);
        if let Some(step) = self.steps.last_mut() {
            *step = Step::Failed(outcome);
        }
    }

    /// Marks, composes and sends the rows, and passes their outcomes on. If they may not or cannot be sent soon, they
    /// are handed back at no cost.
    pub async fn deliver(mut self, runner: &Runner) {
        if let Some(mark) = self.mark(runner).await {
            self.compose(runner).await;
            self.settle_failed(runner);
            match slot(runner).await {
                Some(_slot) if self.is_fresh(runner, mark).await && may_send(runner) => {
                    self.send(runner).await;
                }
                _ => self.hand_back_unsent(runner),
            }
        }
        self.finish(runner);
    }

    /// Returns the indexes of the rows on their way to the transport.
    fn going(&self) -> Vec<usize> {
        (0..self.steps.len()).filter(|&at| self.steps[at].is_going()).collect()
    }

    /// Marks the rows as begun. If a row has lost its lease, it is handed back with all rows of its group behind it.
    /// Returns no mark if no row is left to send.
    async fn mark(&mut self, runner: &Runner) -> Option<Mark> {
        let going = self.going();
        if going.is_empty() {
            return None;
        }
        let leases: Vec<LeaseRef> = going.iter().map(|&at| self.leases[at].clone()).collect();
        let (held, mark) = begin(runner, &leases).await;
        if held.contains(&false) {
            let lost: Vec<usize> =
                going.into_iter().zip(&held).filter(|(_, held)| !**held).map(|(at, _)| at).collect();
            self.hand_back(runner, &lost);
        }
        held.contains(&true).then_some(mark)
    }

    /// Marks the rows once more if the mark is too old: composing took long, all deliveries were busy, or the process
    /// was suspended. Returns whether any row is left to send.
    async fn is_fresh(&mut self, runner: &Runner, mark: Mark) -> bool {
        let mut mark = Some(mark);
        for _ in 0..MARKS {
            if mark.is_none_or(|mark| mark.is_fresh(runner)) || !may_send(runner) {
                break;
            }
            mark = self.mark(runner).await;
        }
        mark.is_some()
    }

    /// Hands back all rows that are marked and not sent, so that a crash does not charge them: they get another fence,
    /// and the mark names the one that they had.
    fn hand_back_unsent(&mut self, runner: &Runner) {
        let going = self.going();
        if !going.is_empty() {
            tracing::debug!(
                lane = runner.state.name,
                rows = going.len(),
                "prepared rows are handed back unsent"
            );
            self.hand_back(runner, &going);
        }
    }

    /// Hands back each of these rows, with all rows of its group behind it.
    fn hand_back(&mut self, runner: &Runner, rows: &[usize]) {
        let mut released = Vec::new();
        for part in &mut self.parts {
            let Some(first) = rows.iter().copied().find(|at| part.rows.contains(at)) else { continue };
            let mut leases = Vec::new();
            for at in first..part.rows.end {
                if !matches!(std::mem::replace(&mut self.steps[at], Step::Done), Step::Done) {
                    leases.push(self.leases[at].clone());
                }
            }
            leases.extend(std::mem::take(&mut part.behind).into_iter().map(|held| held.lease));
            released.extend(DecidedRow::released_together(leases));
        }
        runner.outcomes.push(released);
    }

    async fn compose(&mut self, runner: &Runner) {
        let claimed: Vec<usize> =
            (0..self.steps.len()).filter(|&at| matches!(self.steps[at], Step::Claimed)).collect();
        runner.outcomes.first_rows.composed(claimed.len());
        let composed = if claimed.len() == self.rows.len() {
            compose::compose(runner, &self.rows).await
        } else {
            let rows: Vec<ClaimedRow> = claimed.iter().map(|&at| self.rows[at].clone()).collect();
            compose::compose(runner, &rows).await
        };
        for (at, result) in claimed.into_iter().zip(composed) {
            self.steps[at] = match result {
                Ok(envelope) => {
                    let lease = self.leases[at].check(runner.lease_margin());
                    Step::Composed(Envelope { lease, ..envelope })
                }
                Err(outcome) => Step::Failed(outcome),
            };
        }
    }

    /// Settles rows without order that cannot be composed at once: they need not wait for the delivery of the others.
    fn settle_failed(&mut self, runner: &Runner) {
        let mut decided = Vec::new();
        for part in self.parts.iter().filter(|part| part.rows.len() == 1 && part.behind.is_empty()) {
            let at = part.rows.start;
            if let Step::Failed(_) = self.steps[at]
                && let Step::Failed(outcome) = std::mem::replace(&mut self.steps[at], Step::Done)
            {
                decided.push(decide::decided(runner, &self.rows[at], self.leases[at].clone(), None, outcome));
            }
        }
        runner.outcomes.push(decided);
    }

    /// Sends the composed rows: of each group, those before the first failure that blocks the group.
    async fn send(&mut self, runner: &Runner) {
        let (mut going, mut envelopes) = (Vec::new(), Vec::new());
        for part in &self.parts {
            for at in part.rows.clone() {
                match &self.steps[at] {
                    Step::Failed(outcome) if blocks(runner, &self.rows[at], outcome) => break,
                    Step::Composed(envelope) => {
                        going.push(at);
                        envelopes.push(envelope.clone());
                    }
                    _ => {}
                }
            }
        }
        if going.is_empty() {
            return;
        }
        let mut outcomes = send::send(runner, &mut envelopes, |envelopes, outcomes| {
            self.settle_delivered(runner, &going, envelopes, outcomes);
        })
        .await;
        prober::note(runner, &envelopes, &mut outcomes).await;
        let rows: Vec<&ClaimedRow> = going.iter().map(|&at| &self.rows[at]).collect();
        dead_letters::publish(runner, &rows, &envelopes, &mut outcomes).await;
        for ((at, envelope), outcome) in going.into_iter().zip(envelopes).zip(outcomes) {
            if !matches!(self.steps[at], Step::Done) {
                self.steps[at] = Step::Sent(envelope, outcome);
            }
        }
    }

    /// Settles the rows that were delivered, and not settled yet, at once: neither the rest of the call, nor a probe or
    /// a dead letter of another row delays them. This keeps the order of a group: a delivered row holds back no other,
    /// and rows behind one that failed count as delivered in any case.
    fn settle_delivered(
        &mut self,
        runner: &Runner,
        going: &[usize],
        envelopes: &[Envelope],
        outcomes: &[Option<Outcome>],
    ) {
        let mut decided = Vec::new();
        for ((&at, envelope), outcome) in going.iter().zip(envelopes).zip(outcomes) {
            let Some(outcome @ Outcome::Delivered(_)) = outcome else { continue };
            let row = &self.rows[at];
            // What the contract does not accept as delivered may block its group.
            if matches!(self.steps[at], Step::Done)
                || decide::transition(runner, row, outcome) != Transition::Delivered
            {
                continue;
            }
            self.steps[at] = Step::Done;
            let (lease, envelope) = (self.leases[at].clone(), Some(envelope.clone()));
            decided.push(decide::decided(runner, row, lease, envelope, outcome.clone()));
        }
        runner.outcomes.push(decided);
    }

    /// Settles the rows that were tried, and returns the rest of each group to the queue.
    fn finish(mut self, runner: &Runner) {
        let mut decided = Vec::with_capacity(self.rows.len());
        for part in std::mem::take(&mut self.parts) {
            self.finish_part(runner, part, &mut decided);
        }
        runner.outcomes.push(decided);
    }

    /// Decides the rows of one part. If one blocks its group, all rows behind it that were not accepted go back with
    /// it.
    fn finish_part(&mut self, runner: &Runner, part: Part, decided: &mut Vec<DecidedRow>) {
        let mut blocker: Option<usize> = None;
        let mut back = Vec::new();
        for at in part.rows {
            let (row, lease) = (&self.rows[at], self.leases[at].clone());
            let (envelope, outcome) = match std::mem::replace(&mut self.steps[at], Step::Done) {
                Step::Done => continue,
                Step::Sent(envelope, outcome) => (Some(envelope), outcome),
                Step::Failed(outcome) if blocker.is_none() => (None, outcome),
                Step::Claimed | Step::Composed(_) | Step::Failed(_) => {
                    back.push(lease);
                    continue;
                }
            };
            let one = decide::decided(runner, row, lease, envelope, outcome);
            let untried = matches!(one.transition, Transition::Deferred | Transition::Released);
            if blocker.is_some() && untried {
                back.push(one.lease);
                continue;
            }
            if blocker.is_none() && holds(runner, row, one.transition) {
                blocker = Some(decided.len());
            }
            decided.push(one);
        }
        if let Some(at) = blocker {
            let behind = part.behind.into_iter().map(|held| held.lease);
            decided[at].behind = back.into_iter().chain(behind).collect();
        } else {
            decided.extend(DecidedRow::released_together(back));
            runner.waiting.put_back(part.behind);
        }
    }
}

/// Waits for a free call of the transport; `None` if rows may not be sent any more, or the target takes longer than
/// usual: the rows are marked, and a crash must not charge rows that wait for a target.
async fn slot(runner: &Runner) -> Option<SemaphorePermit<'_>> {
    if let Ok(slot) = runner.slots.try_acquire() {
        return Some(slot);
    }
    tokio::select! {
        biased;
        () = runner.state.closed() => None,
        () = runner.suspects.elsewhere(&runner.state.name, true) => None,
        slot = runner.slots.acquire() => slot.ok(),
        () = tokio::time::sleep(runner.calls_ahead.max_wait_to_send()) => None,
    }
}

/// Whether rows may be sent: the lane may have been closed, or a suspect of another lane begun, since they were taken.
fn may_send(runner: &Runner) -> bool {
    runner.state.is_open() && !runner.suspects.is_elsewhere(&runner.state.name)
}

/// Whether this outcome blocks the group of the row.
fn blocks(runner: &Runner, row: &ClaimedRow, outcome: &Outcome) -> bool {
    row.group.is_some() && holds(runner, row, decide::transition(runner, row, outcome))
}

/// Whether this transition of the row holds back the rows of its group behind it.
fn holds(runner: &Runner, row: &ClaimedRow, transition: Transition) -> bool {
    row.group.as_ref().is_some_and(|group| runner.stage().holds(group.on_error, transition))
}

/// Hands back a run of rows that were never tried, or the rest of one, in one move: this costs no attempt.
pub(crate) fn hand_back_run(runner: &Runner, run: VecDeque<HeldRow>) {
    let leases = run.into_iter().map(|held| held.lease).collect();
    runner.outcomes.push(DecidedRow::released_together(leases).into_iter().collect());
}
