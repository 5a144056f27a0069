//! Outcomes that the database refuses to store: a trigger or a constraint raises an error, or a text does not fit into
//! its column.
//!
//! Owns: these outcomes, and when each is settled again: first as it is, then with texts that fit any column
//! (`refused/reduce.rs`). Meanwhile their leases are extended, and the other rows of the lane go on. Must not: deliver
//! anything.
//!
//! Invariant: the outcome of a delivered row is kept while the process lives, because the row would be sent again after
//! its lease. A row is left to its lease only if the database has accepted the same transition of other rows since, so
//! that the cause is in the row itself, and an hour has passed; or if the lane drains and every form was refused.

mod reduce;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_contract::Transition;
use postrider_seams::store::{self, Class};
use tokio::sync::Notify;
use tokio::time::Instant;

pub(crate) use self::reduce::Form;
use crate::outcomes::DecidedRow;
use crate::runner::Runner;
use crate::settler;

/// The rows of one call: few enough for the store to find out which of them it refuses.
const ROWS_AT_ONCE: usize = 8;

/// The number of rows refused in every form, with none accepted meanwhile, at which the lane claims no more: the cause is
/// hardly in the rows.
const MOST_REFUSED: usize = 8;

/// Time after which a row is left to its lease if the database accepts other rows.
const KEPT: Duration = Duration::from_hours(1);

/// An outcome that was refused.
struct RefusedRow {
    id: String,
    decided: DecidedRow,
    /// The number of refusals.
    refusals: u32,
    since: Instant,
    due: Instant,
    /// Whether the database has accepted the same transition of another row since.
    others_accepted: bool,
}

impl RefusedRow {
    /// Whether the database has refused every form of the outcome.
    fn is_refused_in_every_form(&self) -> bool {
        self.refusals > Form::LAST
    }

    /// Whether the cause may be outside the row.
    fn is_about_all(&self) -> bool {
        self.is_refused_in_every_form() && !self.others_accepted
    }

    fn is_given_up(&self, drains: bool) -> bool {
        self.is_refused_in_every_form() && (drains || (self.others_accepted && self.since.elapsed() >= KEPT))
    }
}

/// The refused outcomes of one lane.
#[derive(Default)]
pub(crate) struct RefusedOutcomes {
    inner: Mutex<Inner>,
    changed: Notify,
}

#[derive(Default)]
struct Inner {
    rows: Vec<RefusedRow>,
    /// Rows that are being settled again.
    under_way: usize,
    /// The last error of the database.
    error: String,
    closed: bool,
}

/// What to do next.
enum Next {
    Settle(Vec<RefusedRow>),
    Wait(Instant),
    Sleep,
    End,
}

impl RefusedOutcomes {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the number of rows whose outcome was refused and is kept.
    pub fn rows(&self) -> usize {
        let inner = self.lock();
        inner.rows.len() + inner.under_way
    }

    /// Keeps outcomes that were refused for the first time. `error` is `None` if it is not known.
    pub fn keep(&self, refused: Vec<DecidedRow>, error: Option<&store::Error>) {
        let now = Instant::now();
        let row = |decided: DecidedRow| RefusedRow {
            id: decided.lease.current().map(|lease| lease.id.to_string()).unwrap_or_default(),
            decided,
            refusals: 1,
            since: now,
            due: now + pause(1),
            others_accepted: false,
        };
        self.put(refused.into_iter().map(row).collect(), error);
        self.changed.notify_one();
    }

    fn put(&self, rows: Vec<RefusedRow>, error: Option<&store::Error>) {
        let mut inner = self.lock();
        inner.rows.extend(rows);
        if let Some(error) = error {
            inner.error = error.to_string();
        }
    }

    /// Records that the database accepted a transition.
    pub fn accepted(&self, transition: Transition) {
        for row in &mut self.lock().rows {
            row.others_accepted |= row.decided.transition == transition;
        }
    }

    /// Ends the retries: what remains is tried in every form, without waits.
    pub fn close(&self) {
        self.lock().closed = true;
        self.changed.notify_one();
    }

    fn next(&self) -> Next {
        let mut inner = self.lock();
        let now = Instant::now();
        let is_due = |row: &RefusedRow, closed: bool| closed || row.due <= now;
        let closed = inner.closed;
        let due: Vec<usize> =
            (0..inner.rows.len()).filter(|at| is_due(&inner.rows[*at], closed)).take(ROWS_AT_ONCE).collect();
        if due.is_empty() {
            let next = inner.rows.iter().map(|row| row.due).min();
            return match (next, inner.closed) {
                (Some(next), _) => Next::Wait(next),
                (None, false) => Next::Sleep,
                (None, true) => Next::End,
            };
        }
        let rows: Vec<RefusedRow> = due.into_iter().rev().map(|at| inner.rows.remove(at)).collect();
        inner.under_way = rows.len();
        Next::Settle(rows)
    }

    /// Returns why the database seems to refuse the outcomes of all rows, and whether the lane should claim no more.
    fn trouble(&self) -> Option<(String, bool)> {
        let inner = self.lock();
        let rows = inner.rows.iter().filter(|row| row.is_about_all()).count();
        let text = || format!("the database refuses to store outcomes; they are kept: {}", inner.error);
        (rows > 0).then(|| (text(), rows >= MOST_REFUSED))
    }
}

/// Settles refused outcomes again until the lane has drained.
pub(crate) async fn run(runner: Arc<Runner>) {
    set_gauge(&runner);
    loop {
        match runner.refused.next() {
            Next::Settle(rows) => {
                settle(&runner, rows).await;
                runner.state.set_refused(runner.refused.trouble());
                set_gauge(&runner);
            }
            Next::Wait(until) => {
                tokio::select! {
                    biased;
                    () = tokio::time::sleep_until(until) => {}
                    () = runner.refused.changed.notified() => {}
                }
            }
            Next::Sleep => runner.refused.changed.notified().await,
            Next::End => return,
        }
    }
}

async fn settle(runner: &Runner, mut rows: Vec<RefusedRow>) {
    let mut failures = 0;
    let (refused, error) = loop {
        let batch = rows.iter().map(|row| (&row.decided, Form::after(row.refusals)));
        match settler::try_settle(runner, batch.collect()).await {
            Ok(refused) => break (refused, None),
            Err(error) if error.class == Class::Permanent => break (vec![true; rows.len()], Some(error)),
            Err(error) => {
                failures += 1;
                let wait = runner.store_failed(&error, failures);
                tokio::time::sleep(wait).await;
            }
        }
    };
    let lane = &runner.state.name;
    let accepted = rows.iter().zip(&refused).filter(|(_, refused)| !**refused);
    let accepted: Vec<Transition> = accepted.map(|(row, _)| row.decided.transition).collect();
    let mut again = Vec::new();
    for (mut row, refused) in rows.drain(..).zip(refused) {
        if !refused {
            settler::schedule(runner, &row.decided);
            tracing::info!(lane, row = row.id, form = ?Form::after(row.refusals), "an outcome is no longer refused");
            continue;
        }
        row.others_accepted |= accepted.contains(&row.decided.transition);
        row.refusals += 1;
        row.due = Instant::now() + pause(row.refusals);
        if row.is_given_up(runner.refused.lock().closed) {
            tracing::error!(
                lane,
                row = row.id,
                transition = row.decided.transition.name(),
                "the database refuses a row's outcome in every form; the row is left to its lease, and may be sent again"
            );
            settler::give_up(runner, &row.decided);
        } else {
            again.push(row);
        }
    }
    runner.refused.put(again, error.as_ref());
    runner.refused.lock().under_way = 0;
}

/// Returns the time until an outcome is settled again.
fn pause(refusals: u32) -> Duration {
    let waits = [250, 500, 1000, 2000, 5000, 10_000, 30_000, 60_000];
    Duration::from_millis(waits[(refusals.max(1) as usize - 1).min(waits.len() - 1)])
}

fn set_gauge(runner: &Runner) {
    #[allow(clippy::cast_precision_loss)] // a gauge of rows held is far below 2^52
    metrics::gauge!("postrider_outcomes_refused", "lane" => runner.state.name.clone())
        .set(runner.refused.rows() as f64);
}
