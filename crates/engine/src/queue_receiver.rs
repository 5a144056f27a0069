//! The queue receiver of a lane with an external queue: receives pointers, claims the rows they name, acknowledges
//! them.
//!
//! The claim alone decides which worker delivers. A pointer is acknowledged once its claim is committed, whether the
//! claim got the row or not: a worker that did not get the row has nothing left to do. Invariant: no pointer is
//! acknowledged before the store has answered its claim.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::handoff::PointerClaims;
use postrider_seams::queue::{AckToken, Pointer};
use postrider_seams::store::{Class, Error};
use postrider_seams::{Handoff, Queue, RowId};

use crate::batch::HeldRow;
use crate::boot_instant::BootInstant;
use crate::claimer::{self, is_draining};
use crate::room::Source;
use crate::runner::Runner;

/// Time until the queue redelivers the pointer of a row that is locked at the moment.
const BUSY: Duration = Duration::from_secs(1);

/// Milliseconds between attempts to receive from a queue that is away.
const WAITS: [u64; 5] = [100, 500, 1000, 2000, 5000];

/// Receives until the lane drains. Does not receive while the lane is paused or its target is away.
pub(crate) async fn receive(runner: Arc<Runner>, queue: Arc<dyn Queue>) {
    let mut changed = runner.state.subscribe();
    let mut freed = runner.room.subscribe();
    let mut place = None;
    let mut failures = 0;
    while !is_draining(&runner) {
        if !runner.state.is_open() {
            place = None;
            // Prefetched pointers go back, so that other workers can receive them.
            queue.release_prefetched().await;
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
    queue.release_prefetched().await;
}

/// Claims the rows that the pointers name, as far as there is room, and acknowledges or returns each pointer.
async fn take(runner: &Runner, queue: &dyn Queue, pointers: Vec<Pointer>) {
    let Some(handoff) = runner.store.handoff() else { return };
    let (named, unreadable): (Vec<Pointer>, Vec<Pointer>) =
        pointers.into_iter().partition(|pointer| pointer.row.is_some());
    if !unreadable.is_empty() {
        runner.count_pointers("unreadable", unreadable.len());
        acknowledge(runner, queue, unreadable.into_iter().map(|pointer| pointer.token).collect()).await;
    }
    let mut named = named.as_slice();
    while !named.is_empty() {
        let Some(room) = reserved(runner, named.len()).await else {
            // The lane is paused or its target away: the queue keeps the pointers.
            let tokens: Vec<AckToken> = named.iter().map(|pointer| pointer.token.clone()).collect();
            return give_back(runner, queue, &tokens, Duration::ZERO).await;
        };
        let (part, rest) = named.split_at(room);
        named = rest;
        claim(runner, queue, handoff, part).await;
    }
}

/// Reserves room for up to `rows` rows as soon as there is any; `None` if the lane must not claim any more.
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

/// Claims the rows of these pointers, for which room is reserved, and acknowledges the pointers.
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
        let tokens: Vec<AckToken> = part.iter().map(|pointer| pointer.token.clone()).collect();
        return give_back(runner, queue, &tokens, Duration::ZERO).await;
    };
    let got = held.len();
    claimer::give_room_back(runner, room - (got as u64).min(room));
    claimer::accept(runner, held).await;
    if taken.unqueueable > 0 {
        // These rows are claimed from the table: wake the claimer.
        runner.freed.notify_one();
    }
    let unqueueable = usize::try_from(taken.unqueueable).unwrap_or(usize::MAX);
    let lost = part.len().saturating_sub(got).saturating_sub(taken.busy.len()).saturating_sub(unqueueable);
    for (fate, pointers) in
        [("claimed", got), ("kept", unqueueable), ("busy", taken.busy.len()), ("lost", lost)]
    {
        runner.count_pointers(fate, pointers);
    }
    let is_busy = |pointer: &&Pointer| pointer.row.as_ref().is_some_and(|row| taken.busy.contains(row));
    let (busy, done): (Vec<&Pointer>, Vec<&Pointer>) = part.iter().partition(is_busy);
    let tokens = |pointers: Vec<&Pointer>| pointers.into_iter().map(|one| one.token.clone()).collect();
    acknowledge(runner, queue, tokens(done)).await;
    let busy: Vec<AckToken> = tokens(busy);
    give_back(runner, queue, &busy, BUSY).await;
}

/// The result of a claim of named rows, and the rows that it got, held.
type HeldPointerClaims = (PointerClaims, Vec<HeldRow>);

/// Claims until the store answers; `None` if the lane drains before. If the answer to a try was lost, its rows are
/// released before the next try, which then gets them: their pointers are not acknowledged in between.
async fn claimed(runner: &Runner, handoff: &dyn Handoff, rows: &[RowId]) -> Option<HeldPointerClaims> {
    let mut failures = 0;
    loop {
        match claim_by_id(runner, handoff, rows).await {
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

async fn claim_by_id(
    runner: &Runner,
    handoff: &dyn Handoff,
    rows: &[RowId],
) -> Result<HeldPointerClaims, Error> {
    let _claiming = runner.may_claim().await?;
    let asked = BootInstant::now();
    let mut taken = runner.answered(handoff.claim_by_id(rows).await)?;
    let held = claimer::hold(runner, std::mem::take(&mut taken.rows), asked);
    Ok((taken, held))
}

/// Claims each row alone, so that a key which is invalid for this table does not block the others.
async fn one_by_one(runner: &Runner, handoff: &dyn Handoff, rows: &[RowId]) -> HeldPointerClaims {
    let (mut all, mut held) = (PointerClaims::default(), Vec::new());
    for row in rows {
        match claim_by_id(runner, handoff, std::slice::from_ref(row)).await {
            Ok((taken, got)) => {
                held.extend(got);
                all.busy.extend(taken.busy);
                all.unqueueable += taken.unqueueable;
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

async fn acknowledge(runner: &Runner, queue: &dyn Queue, tokens: Vec<AckToken>) {
    if tokens.is_empty() {
        return;
    }
    if let Err(error) = queue.acknowledge(&tokens).await {
        // The queue delivers them again, and their claims find nothing.
        runner.queue_failed(&error);
    }
}

async fn give_back(runner: &Runner, queue: &dyn Queue, tokens: &[AckToken], after: Duration) {
    if tokens.is_empty() {
        return;
    }
    if let Err(error) = queue.give_back(tokens, after).await {
        runner.queue_failed(&error);
    }
}

impl Runner {
    /// Counts pointers by their fate.
    fn count_pointers(&self, fate: &'static str, pointers: usize) {
        if pointers > 0 {
            metrics::counter!("postrider_queue_pointers_total", "lane" => self.state.name.clone(), "fate" => fate)
                .increment(pointers as u64);
        }
    }

    /// Reports that the queue failed; logs only the first failure of an outage.
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
