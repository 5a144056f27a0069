//! Runs the verbs of operators: counts, requeue, cancel, release, lag.

mod statements;

use postrider_seams::inspect::{COUNT_LIMIT, Lag, SelectedRows, StateCount};
use postrider_seams::row::{RowId, Value};
use postrider_seams::store::{Class, Error};

use crate::Script;
use crate::bind::{self, Values};
use crate::driver::Driver;
use crate::open_table::OpenTable;

impl OpenTable {
    /// Counts the rows of each state, up to a limit.
    pub async fn census(&self, on: &impl Driver) -> Result<Vec<StateCount>, Error> {
        let mut counts = Vec::with_capacity(self.statements.inspect.census.len());
        for (state, script) in &self.statements.inspect.census {
            let done = on.run("count rows", script, &counting(on)).await?;
            let rows = bind::count(&done.first());
            counts.push(StateCount {
                state: state.clone(),
                rows: rows.min(COUNT_LIMIT),
                more: rows > COUNT_LIMIT,
            });
        }
        Ok(counts)
    }

    /// Requeues rows, and returns how many moved.
    pub async fn requeue(&self, on: &impl Driver, which: &SelectedRows) -> Result<u64, Error> {
        let scripts = &self.statements.inspect;
        self.operate(on, "requeue", which, &scripts.requeue_ids, &scripts.requeue_state).await
    }

    /// Cancels rows, and returns how many moved.
    pub async fn cancel(&self, on: &impl Driver, which: &SelectedRows) -> Result<u64, Error> {
        let scripts = &self.statements.inspect;
        self.operate(on, "cancel", which, &scripts.cancel_ids, &scripts.cancel_state).await
    }

    /// Releases claimed rows, and returns how many moved.
    pub async fn release(&self, on: &impl Driver, which: &SelectedRows) -> Result<u64, Error> {
        let scripts = &self.statements.inspect;
        self.operate(on, "release", which, &scripts.release_ids, &scripts.release_state).await
    }

    /// Returns how long the oldest due row and the oldest claim have waited.
    pub async fn lag(&self, on: &impl Driver) -> Result<Lag, Error> {
        let done = on.run("measure the lag", &self.statements.inspect.lag, &counting(on)).await?;
        let row = done.into_rows().into_iter().next().unwrap_or_default();
        let seconds = |at: usize| match row.get(at) {
            Some(Value::Float(seconds)) => Some(*seconds),
            #[expect(clippy::cast_precision_loss, reason = "a lag past 2^52 s is not one")]
            Some(Value::Int(seconds)) => Some(*seconds as f64),
            Some(Value::Text(seconds)) => seconds.parse().ok(),
            _ => None,
        };
        Ok(Lag { oldest_due_seconds: seconds(0), oldest_claim_seconds: seconds(1) })
    }

    async fn operate(
        &self,
        on: &impl Driver,
        verb: &str,
        which: &SelectedRows,
        by_ids: &[(String, Script)],
        by_state: &[(String, Script)],
    ) -> Result<u64, Error> {
        if by_ids.is_empty() {
            let name = &self.contract.name;
            return Err(Error::new(Class::Permanent, format!("contract {name} has no way to {verb} a row")));
        }
        let doing = format!("{verb} rows");
        match which {
            SelectedRows::Ids(ids) => {
                let mut keys: Vec<RowId> = ids.iter().filter_map(|id| self.key(id)).collect();
                keys.sort_unstable();
                keys.dedup();
                let mut moved = 0;
                for part in keys.chunks(self.batch) {
                    for (_, script) in by_ids {
                        moved +=
                            on.run(&doing, script, &Values::ids(on.owner(), part.to_vec())).await?.moved();
                    }
                }
                Ok(moved)
            }
            SelectedRows::State { state, since, limit } => {
                let (_, script) = by_state
                    .iter()
                    .find(|(from, _)| from == state)
                    .ok_or_else(|| no_such_move(verb, state, by_state))?;
                let since = since.map(|since| since.as_secs_f64());
                let given = Values { since, ..Values::limit(on.owner(), *limit) };
                Ok(on.run(&doing, script, &given).await?.moved())
            }
        }
    }

    /// A key that an operator typed; `None` if no row can have it.
    fn key(&self, text: &str) -> Option<RowId> {
        if self.statements.layout.integer_id {
            return text.trim().parse().ok().map(RowId::Int);
        }
        Some(RowId::Text(text.into()))
    }

    pub(crate) fn no_state(&self, state: Option<&str>) -> Error {
        let known: Vec<&str> = self.contract.states.iter().map(|state| state.name.as_str()).collect();
        let state = state.unwrap_or_default();
        Error::new(
            Class::Permanent,
            format!("contract {} has no state {state:?}; it has {}", self.contract.name, known.join(", ")),
        )
    }
}

/// One more than the limit shows that there are more rows.
fn counting(on: &impl Driver) -> Values<'_> {
    let limit = u32::try_from(COUNT_LIMIT + 1).expect("the limit is small");
    Values::limit(on.owner(), limit)
}

fn no_such_move(verb: &str, state: &str, by_state: &[(String, Script)]) -> Error {
    let from: Vec<&str> = by_state.iter().map(|(from, _)| from.as_str()).collect();
    Error::new(
        Class::Permanent,
        format!("rows in state {state:?} can't be moved by {verb}; those in {} can", from.join(", ")),
    )
}

pub(crate) fn not_searched(contract: &str, by: &str) -> Error {
    Error::new(Class::Permanent, format!("contract {contract} has no column to search by {by}"))
}
