//! Marks rows as begun right before they are composed and sent, and checks their leases once more.
//!
//! A crash is counted against rows that were begun; rows that were only held come back at no cost. Requests that arrive
//! while a mark is being written share the next one (group commit), so marks do not cost one write per row. A row whose
//! lease was lost meanwhile (the process was stopped, another worker has the row) is not sent.
//! Invariant: every row handed to the transport was marked and checked within the last [`FRESH`].

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::store::{self, LeaseResult};
use postrider_seams::{Lease, RowId};
use tokio::sync::oneshot;
use tokio::time::Instant;

use crate::batch::LeaseRef;
use crate::boot_instant::BootInstant;
use crate::runner::Runner;

/// The maximum age of a lease check when the row is sent; a quarter of the lease if leases are short.
const FRESH: Duration = Duration::from_secs(1);

type Answer = Result<Vec<bool>, Arc<store::Error>>;

#[derive(Default)]
pub(crate) struct BegunMarks {
    waiting: Mutex<Vec<Request>>,
    /// The task that holds it writes the mark for all waiting requests.
    lead: tokio::sync::Mutex<()>,
}

struct Request {
    leases: Vec<LeaseRef>,
    answer: oneshot::Sender<Answer>,
}

/// The time at which rows were marked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Mark(BootInstant);

impl Mark {
    /// Whether rows may still be sent on this mark: not if the process or the machine was suspended since, or composing
    /// took long.
    pub fn is_fresh(self, runner: &Runner) -> bool {
        self.is_within(runner.store.capabilities().lease)
    }

    fn is_within(self, lease: Duration) -> bool {
        self.0.elapsed() <= FRESH.min(lease / 4)
    }
}

/// Marks rows as begun and returns which of them may be sent. If the store is away, waits while the lane is open.
pub(crate) async fn begin(runner: &Runner, leases: &[LeaseRef]) -> (Vec<bool>, Mark) {
    let mut failures = 0;
    loop {
        let (asked, started) = (Mark(BootInstant::now()), Instant::now());
        match runner.begun_marks.ask(runner, leases.to_vec()).await {
            Ok(answers) => {
                runner.calls_ahead.note_mark(started.elapsed());
                if failures > 0 {
                    runner.store_is_back();
                }
                return (answers, asked);
            }
            Err(error) => {
                failures += 1;
                let wait = runner.store_failed(&error, failures);
                tracing::warn!(lane = runner.state.name, %error, rows = leases.len(), "rows could not be marked as begun; they wait");
                if !runner.state.is_open() {
                    return (vec![false; leases.len()], asked);
                }
                tokio::time::sleep(wait).await;
            }
        }
    }
}

impl BegunMarks {
    fn waiting(&self) -> MutexGuard<'_, Vec<Request>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn ask(&self, runner: &Runner, leases: Vec<LeaseRef>) -> Answer {
        let (answer, mut answered) = oneshot::channel();
        self.waiting().push(Request { leases, answer });
        let _lead = tokio::select! {
            biased;
            Ok(answer) = &mut answered => return answer,
            lead = self.lead.lock() => lead,
        };
        let requests = std::mem::take(&mut *self.waiting());
        let mut answers = write(runner, &requests).await.map(Vec::into_iter).map_err(Arc::new);
        for request in requests {
            let part = match &mut answers {
                Ok(answers) => Ok(answers.by_ref().take(request.leases.len()).collect()),
                Err(error) => Err(Arc::clone(error)),
            };
            // The receiver is gone if its delivery was aborted at the end of a drain.
            let _ = request.answer.send(part);
        }
        answered.await.unwrap_or_else(|_| {
            let lost = store::Error::new(store::Class::Transient, "the answer to a mark was lost");
            Err(Arc::new(lost))
        })
    }
}

/// Writes one mark for all requests. The gate excludes extensions, so the fences read here are the rows' current ones.
async fn write(runner: &Runner, requests: &[Request]) -> Result<Vec<bool>, store::Error> {
    let _gate = runner.gate.read().await;
    let refs: Vec<&LeaseRef> = requests.iter().flat_map(|request| &request.leases).collect();
    let leases: Vec<Option<Lease>> = refs.iter().map(|lease| lease.current()).collect();
    let fresh: Vec<Lease> = leases.iter().flatten().cloned().collect();
    let fresh_ids: HashSet<&RowId> = fresh.iter().map(|lease| &lease.id).collect();
    let mut others = runner.begun();
    others.retain(|other| !fresh_ids.contains(&other.id));
    let asked = Instant::now();
    let mut held = runner.store.begin(&fresh, &others).await?.into_iter();
    runner.round_trip.note(asked.elapsed());
    let answer = |(lease, current): (&&LeaseRef, &Option<Lease>)| {
        let is_held = current.is_some() && held.next() == Some(LeaseResult::Held);
        if is_held {
            lease.begin();
        }
        is_held
    };
    Ok(refs.iter().zip(&leases).map(answer).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g02_a_mark_from_before_the_machine_was_suspended_is_not_fresh() {
        let lease = Duration::from_mins(1);
        assert!(Mark(BootInstant::now()).is_within(lease));
        assert!(!Mark(BootInstant::before_a_suspension(FRESH * 2)).is_within(lease));
    }
}
