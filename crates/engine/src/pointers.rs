//! Claims by pointer, on a lane with an external queue: receives, claims what was named, acknowledges.
//!
//! The claim alone decides who delivers. A pointer is acknowledged once its claim is committed, whether it got the row
//! or not: who lost has nothing to do. Invariant: no pointer is acknowledged before the store has answered about it.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::handoff::Taken;
use postrider_seams::queue::{Pointer, Receipt};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Handoff, Queue, RowId};
use tokio::time::Instant;

use crate::batch::HeldRow;
use crate::claimer::{self, is_draining};
use crate::room::Source;
use crate::runner::Runner;

/// Until a row that somebody looks at just now is tried again.
const BUSY: Duration = Duration::from_secs(1);

/// Between two tries to receive from a queue that is away.
const WAITS: [u64; 5] = [100, 500, 1000, 2000, 5000];

/// Receives until the lane drains. A lane that is paused, or whose target is away, leaves the queue alone.
pub(crate) async fn receive(runner: Arc<Runner>, queue: Arc<dyn Queue>) {
    let mut changed = runner.state.subscribe();
    let mut freed = runner.room.subscribe();
    let mut place = None;
    let mut failures = 0;
    while !is_draining(&runner) {
        if !runner.state.is_open() {
            place = None;
            // What was fetched ahead is for others.
            queue.rest().await;
            let _ = tokio::time::timeout(Duration::from_secs(2), changed.changed()).await;
            continue;
        }
        freed.mark_unchanged();
        let room = claimer::room(&runner);
        if room == 0 {
            place.get_or_insert_with(|| runner.room.wait(Source::Queue));
            tokio::select! {
                biased;
                _ = freed.changed() => {}
                _ = changed.changed() => {}
            }
            continue;
        }
        place = None;
        match queue.receive(usize::try_from(room).unwrap_or(usize::MAX)).await {
            Ok(pointers) => {
                failures = 0;
                runner.state.set_queue(None);
                if !pointers.is_empty() {
                    runner.received.note();
                }
                take(&runner, &*queue, pointers).await;
            }
            Err(error) => {
                runner.queue_failed(&error);
                let planned = Duration::from_millis(WAITS[failures.min(WAITS.len() - 1)]);
                failures += 1;
                changed.mark_unchanged();
                tokio::select! {
                    biased;
                    () = tokio::time::sleep(planned.mul_f64(1.0 + 0.2 * runner.dice.roll())) => {}
                    _ = changed.changed() => {}
                }
            }
        }
    }
    queue.rest().await;
}

/// Claims what the pointers name, as far as there is room, and tells the queue about each.
async fn take(runner: &Runner, queue: &dyn Queue, pointers: Vec<Pointer>) {
    let Some(handoff) = runner.store.handoff() else { return };
    let (named, strange): (Vec<Pointer>, Vec<Pointer>) =
        pointers.into_iter().partition(|pointer| pointer.row.is_some());
    if !strange.is_empty() {
        runner.count_pointers("unreadable", strange.len());
        acknowledge(runner, queue, strange.into_iter().map(|pointer| pointer.receipt).collect()).await;
    }
    let mut named = named.as_slice();
    while !named.is_empty() {
        let Some(room) = reserved(runner, named.len()).await else {
            // The lane stands still: the queue keeps them.
            let receipts: Vec<Receipt> = named.iter().map(|pointer| pointer.receipt.clone()).collect();
            return give_back(runner, queue, &receipts, Duration::ZERO).await;
        };
        let (part, rest) = named.split_at(room);
        named = rest;
        claim(runner, queue, handoff, part).await;
    }
}

/// Takes room for some of so many rows, as soon as there is any; `None` where the lane is to claim no more.
async fn reserved(runner: &Runner, rows: usize) -> Option<usize> {
    let mut changed = runner.state.subscribe();
    let mut freed = runner.room.subscribe();
    let mut place = None;
    loop {
        if !runner.state.is_open() {
            return None;
        }
        freed.mark_unchanged();
        let room = claimer::reserve_up_to(runner, rows as u64);
        if room > 0 {
            return usize::try_from(room).ok();
        }
        place.get_or_insert_with(|| runner.room.wait(Source::Queue));
        tokio::select! {
            biased;
            _ = freed.changed() => {}
            _ = changed.changed() => {}
        }
    }
}

/// Claims these rows, for which there is room, and acknowledges their pointers.
async fn claim(runner: &Runner, queue: &dyn Queue, handoff: &dyn Handoff, part: &[Pointer]) {
    let room = part.len() as u64;
    let mut seen = HashSet::new();
    let rows: Vec<RowId> = part
        .iter()
        .filter_map(|pointer| pointer.row.clone())
        .filter(|row| seen.insert(row.clone()))
        .collect();
    let Some((taken, held)) = claimed(runner, handoff, &rows).await else {
        claimer::give_room_back(runner, room);
        let receipts: Vec<Receipt> = part.iter().map(|pointer| pointer.receipt.clone()).collect();
        return give_back(runner, queue, &receipts, Duration::ZERO).await;
    };
    let got = held.len();
    claimer::give_room_back(runner, room - (got as u64).min(room));
    claimer::accept(runner, held).await;
    if taken.kept > 0 {
        // They are claimed from the table: somebody should look.
        runner.freed.notify_one();
    }
    let kept = usize::try_from(taken.kept).unwrap_or(usize::MAX);
    let lost = part.len().saturating_sub(got).saturating_sub(taken.busy.len()).saturating_sub(kept);
    for (fate, pointers) in [("claimed", got), ("kept", kept), ("busy", taken.busy.len()), ("lost", lost)] {
        runner.count_pointers(fate, pointers);
    }
    let is_busy = |pointer: &&Pointer| pointer.row.as_ref().is_some_and(|row| taken.busy.contains(row));
    let (busy, done): (Vec<&Pointer>, Vec<&Pointer>) = part.iter().partition(is_busy);
    let receipts = |pointers: Vec<&Pointer>| pointers.into_iter().map(|one| one.receipt.clone()).collect();
    acknowledge(runner, queue, receipts(done)).await;
    let busy: Vec<Receipt> = receipts(busy);
    give_back(runner, queue, &busy, BUSY).await;
}

/// What a claim of named rows came to, and the rows that it got, held.
type Got = (Taken, Vec<HeldRow>);

/// Goes on while the store is away; `None` where the lane drains before it is back. Rows of a try whose answer was lost
/// are released before the next try, which gets them: their pointers are not acknowledged in between.
async fn claimed(runner: &Runner, handoff: &dyn Handoff, rows: &[RowId]) -> Option<Got> {
    let mut failures = 0;
    loop {
        match claim_named(runner, handoff, rows).await {
            Ok(got) => {
                runner.store_is_back();
                return Some(got);
            }
            Err(error) if error.class == Class::Permanent => {
                return Some(one_by_one(runner, handoff, rows).await);
            }
            Err(error) => {
                failures += 1;
                let wait = runner.store_failed(&error, failures);
                tracing::warn!(lane = runner.state.name, %error, "claim failed; the pointers are kept");
                if is_draining(runner) {
                    return None;
                }
                tokio::time::sleep(wait).await;
            }
        }
    }
}

async fn claim_named(runner: &Runner, handoff: &dyn Handoff, rows: &[RowId]) -> Result<Got, Error> {
    let _claiming = runner.may_claim().await?;
    let asked = Instant::now();
    let mut taken = runner.answered(handoff.claim_named(rows).await)?;
    let held = claimer::hold(runner, std::mem::take(&mut taken.rows), asked);
    Ok((taken, held))
}

/// A key that the table can't even be asked for must not keep the others: each is asked for alone.
async fn one_by_one(runner: &Runner, handoff: &dyn Handoff, rows: &[RowId]) -> Got {
    let (mut all, mut held) = (Taken::default(), Vec::new());
    for row in rows {
        match claim_named(runner, handoff, std::slice::from_ref(row)).await {
            Ok((taken, got)) => {
                held.extend(got);
                all.busy.extend(taken.busy);
                all.kept += taken.kept;
            }
            Err(Error { class: Class::Permanent, message, .. }) => {
                runner.count_pointers("unreadable", 1);
                tracing::warn!(
                    lane = runner.state.name,
                    error = message,
                    "a pointer names no row of this table"
                );
            }
            Err(_) => all.busy.push(row.clone()),
        }
    }
    (all, held)
}

async fn acknowledge(runner: &Runner, queue: &dyn Queue, receipts: Vec<Receipt>) {
    if receipts.is_empty() {
        return;
    }
    if let Err(error) = queue.acknowledge(&receipts).await {
        // They come again, and their claims are lost.
        runner.queue_failed(&error);
    }
}

async fn give_back(runner: &Runner, queue: &dyn Queue, receipts: &[Receipt], after: Duration) {
    if receipts.is_empty() {
        return;
    }
    if let Err(error) = queue.give_back(receipts, after).await {
        runner.queue_failed(&error);
    }
}

impl Runner {
    /// What became of pointers.
    fn count_pointers(&self, fate: &'static str, pointers: usize) {
        if pointers > 0 {
            metrics::counter!("postrider_queue_pointers_total", "lane" => self.state.name.clone(), "fate" => fate)
                .increment(pointers as u64);
        }
    }

    /// The queue did not do what it was asked: the lane says so, once.
    pub fn queue_failed(&self, error: &postrider_seams::queue::Error) {
        if !self.state.has_queue_trouble() {
            tracing::warn!(
                lane = self.state.name,
                %error,
                "the queue can't be used; jobs wait in the table until it is back"
            );
        }
        self.state.set_queue(Some(error.to_string()));
    }
}
