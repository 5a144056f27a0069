//! Counts from a lane's database: rows by state, lag, failures. All are bounded and use indexes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use postrider_contract::{ColumnRole, Contract, StateId};
use postrider_hub::Moment;
use postrider_seams::Inspect;
use postrider_seams::inspect::{Lag, Order, Query, RowView, StateCount};
use postrider_seams::store::Error;

use crate::LaneControl;
use crate::api::LaneDefinition;
use crate::rows::error_text;

/// Maximum characters of an error's text in a message.
const MAX_ERROR_CHARS: usize = 200;
/// Number of the newest failed rows that are searched for an error text.
const SEARCHED_ROWS: u32 = 10;

/// The counts of a lane.
#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub states: Vec<StateCount>,
    pub lag: Lag,
    pub failed: Vec<Failed>,
    /// The reason why there are no counts: the database did not answer.
    pub away: Option<String>,
}

/// Rows that failed permanently; only an operator can change them.
#[derive(Debug, Clone)]
pub struct Failed {
    pub count: StateCount,
    /// Time of the last change of the oldest one.
    pub since: Option<Moment>,
    /// Error of the newest one that has an error text.
    pub last_error: Option<String>,
}

/// A query that has not returned yet.
pub type PendingQuery = tokio::task::JoinHandle<Counts>;

/// Queries the counts, or waits for the previous query: one that hangs on a lock then uses one connection, not one
/// more each time. A query that does not return in time stays in `open`.
pub async fn query(
    lanes: &Arc<dyn LaneControl>,
    name: &str,
    open: &Mutex<BTreeMap<String, PendingQuery>>,
    timeout: Duration,
) -> Counts {
    let lock = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let earlier = lock().remove(name);
    let mut question =
        earlier.unwrap_or_else(|| tokio::spawn(query_counts(Arc::clone(lanes), name.to_owned())));
    match tokio::time::timeout(timeout, &mut question).await {
        Ok(Ok(counts)) => counts,
        Ok(Err(error)) => away(error.to_string()),
        Err(_) => {
            lock().insert(name.to_owned(), question);
            away(format!("no answer within {} s", timeout.as_secs()))
        }
    }
}

fn away(text: String) -> Counts {
    Counts { away: Some(text), ..Counts::default() }
}

async fn query_counts(lanes: Arc<dyn LaneControl>, name: String) -> Counts {
    let Some(definition) = lanes.definition(&name) else { return Counts::default() };
    let found = match lanes.table(&name).await {
        Ok(Some(table)) => read_counts(&definition, &*table).await,
        Ok(None) => Ok(Counts::default()),
        Err(error) => Err(error),
    };
    found.unwrap_or_else(|error| away(error.to_string()))
}

async fn read_counts(definition: &LaneDefinition, table: &dyn Inspect) -> Result<Counts, Error> {
    let states = table.count_by_state().await?;
    let lag = table.lag().await?;
    let mut failed = Vec::new();
    for state in failed_states(definition) {
        let name = &definition.contract.state(state).name;
        let Some(count) = states.iter().find(|count| count.state == *name && count.rows > 0) else {
            continue;
        };
        let some =
            |order, limit| Query { state: Some(name.clone()), limit, order, brief: true, ..Query::default() };
        let newest = table.list(&some(Order::Newest, SEARCHED_ROWS)).await?.rows;
        let oldest = table.list(&some(Order::Oldest, 1)).await?.rows.into_iter().next();
        let last_error = newest.iter().find_map(|row| error_of(&definition.contract, row));
        failed.push(Failed { count: count.clone(), since: oldest.and_then(|row| changed(&row)), last_error });
    }
    Ok(Counts { states, lag, failed, away: None })
}

/// Returns the final states of this stage's rows that cannot be delivered.
fn failed_states(definition: &LaneDefinition) -> Vec<StateId> {
    let stage = &definition.contract.stages[definition.stage];
    let mut states = vec![stage.dead, stage.rejected];
    states.sort_unstable();
    states.dedup();
    states.retain(|state| definition.contract.is_final(*state));
    states
}

fn changed(row: &RowView) -> Option<Moment> {
    let times = [
        ColumnRole::Finished,
        ColumnRole::Updated,
        ColumnRole::Attempted,
        ColumnRole::ClaimedAt,
        ColumnRole::Created,
    ];
    times.iter().find_map(|role| row.times.get(role)).copied().map(Moment::from_micros)
}

fn error_of(contract: &Contract, row: &RowView) -> Option<String> {
    let column = contract.column(ColumnRole::Error)?;
    let text = error_text(row.column(column)?)?;
    let line: String =
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(MAX_ERROR_CHARS).collect();
    Some(line)
}
