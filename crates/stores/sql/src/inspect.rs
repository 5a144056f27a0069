//! Runs the actions of operators: counts, requeue, cancel, release, lag.

pub(crate) mod census;
pub(crate) mod statements;

use postrider_seams::inspect::{Lag, SelectedRows, StateCount};
use postrider_seams::row::RowId;
use postrider_seams::store::{Class, Error};

use crate::bind::Ids;
use crate::driver::Driver;
use crate::inspect::statements::{Changed, MoveChanged};
use crate::open_table::OpenTable;
use crate::render::moves::MoveNamed;

impl OpenTable {
    /// Counts the rows of each state, up to a limit.
    pub async fn count_by_state(&self, on: &impl Driver) -> Result<Vec<StateCount>, Error> {
        let mut counts = Vec::with_capacity(self.statements.inspect.census.len());
        for (state, script) in &self.statements.inspect.census {
            let count = on.fetch("count rows", script, ()).await?.pop().unwrap_or_default();
            counts.push(count.of_state(state));
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
        let lag = on.fetch("measure the lag", &self.statements.inspect.lag, ()).await?.pop();
        Ok(lag.unwrap_or(Lag { oldest_due_seconds: None, oldest_claim_seconds: None }))
    }

    async fn operate(
        &self,
        on: &impl Driver,
        action: &str,
        which: &SelectedRows,
        by_ids: &[(String, MoveNamed)],
        by_state: &[(String, MoveChanged)],
    ) -> Result<u64, Error> {
        if by_ids.is_empty() {
            let name = &self.contract.name;
            return Err(Error::new(
                Class::Permanent,
                format!("contract {name} has no way to {action} a row"),
            ));
        }
        let doing = format!("{action} rows");
        match which {
            SelectedRows::Ids(ids) => {
                let mut keys: Vec<RowId> = ids.iter().filter_map(|id| self.key(id)).collect();
                keys.sort_unstable();
                keys.dedup();
                let mut moved = 0;
                for part in keys.chunks(self.batch) {
                    for (_, script) in by_ids {
                        moved += on.fetch(&doing, script, Ids(part)).await?.len() as u64;
                    }
                }
                Ok(moved)
            }
            SelectedRows::State { state, since, limit } => {
                let (_, script) = by_state
                    .iter()
                    .find(|(from, _)| from == state)
                    .ok_or_else(|| no_such_move(action, state, by_state))?;
                let changed = Changed { limit: *limit, since: since.map(|since| since.as_secs_f64()) };
                Ok(on.fetch(&doing, script, changed).await?.len() as u64)
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

fn no_such_move(action: &str, state: &str, by_state: &[(String, MoveChanged)]) -> Error {
    let from: Vec<&str> = by_state.iter().map(|(from, _)| from.as_str()).collect();
    Error::new(
        Class::Permanent,
        format!("rows in state {state:?} can't be moved by {action}; those in {} can", from.join(", ")),
    )
}

pub(crate) fn not_searched(contract: &str, by: &str) -> Error {
    Error::new(Class::Permanent, format!("contract {contract} has no column to search by {by}"))
}
