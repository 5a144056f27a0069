//! What a lane's database tells: rows by state, how far behind it is, what failed. All bounded, all from indexes.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use postrider_contract::{Contract, Role, StateId};
use postrider_hub::Moment;
use postrider_seams::Inspect;
use postrider_seams::inspect::{Count, Lag, Order, Query, RowView};
use postrider_seams::store::Error;

use crate::LaneControl;
use crate::api::LaneMake;
use crate::rows::error_words;

/// Of an error's text, for one sentence.
const WORDS: usize = 200;
/// So many of the newest failed rows are looked at for one that says why.
const NEWEST: u32 = 10;

#[derive(Debug, Clone, Default)]
pub struct Counts {
    pub states: Vec<Count>,
    pub lag: Lag,
    pub failed: Vec<Failed>,
    /// Why there are none: the database did not answer.
    pub away: Option<String>,
}

/// Rows that ended badly and that nothing but an operator moves.
#[derive(Debug, Clone)]
pub struct Failed {
    pub count: Count,
    /// When the oldest of them last changed.
    pub since: Option<Moment>,
    /// Of the newest of them that says why.
    pub last_error: Option<String>,
}

/// A question that has no answer yet.
pub type Question = tokio::task::JoinHandle<Counts>;

/// Asks, or waits on for the answer to what was asked before: one that hangs on a lock holds one connection, not one more with
/// every look. Without an answer in time it is kept in `open`.
pub async fn ask(
    lanes: &Arc<dyn LaneControl>,
    name: &str,
    open: &Mutex<BTreeMap<String, Question>>,
    patience: Duration,
) -> Counts {
    let lock = || open.lock().unwrap_or_else(PoisonError::into_inner);
    let earlier = lock().remove(name);
    let mut question = earlier.unwrap_or_else(|| tokio::spawn(asked(Arc::clone(lanes), name.to_owned())));
    match tokio::time::timeout(patience, &mut question).await {
        Ok(Ok(counts)) => counts,
        Ok(Err(error)) => away(error.to_string()),
        Err(_) => {
            lock().insert(name.to_owned(), question);
            away(format!("no answer within {} s", patience.as_secs()))
        }
    }
}

fn away(text: String) -> Counts {
    Counts { away: Some(text), ..Counts::default() }
}

async fn asked(lanes: Arc<dyn LaneControl>, name: String) -> Counts {
    let Some(make) = lanes.make(&name) else { return Counts::default() };
    let found = match lanes.table(&name).await {
        Ok(Some(table)) => counted(&make, &*table).await,
        Ok(None) => Ok(Counts::default()),
        Err(error) => Err(error),
    };
    found.unwrap_or_else(|error| away(error.to_string()))
}

async fn counted(make: &LaneMake, table: &dyn Inspect) -> Result<Counts, Error> {
    let states = table.census().await?;
    let lag = table.lag().await?;
    let mut failed = Vec::new();
    for state in failed_states(make) {
        let name = &make.contract.state(state).name;
        let Some(count) = states.iter().find(|count| count.state == *name && count.rows > 0) else {
            continue;
        };
        let some =
            |order, limit| Query { state: Some(name.clone()), limit, order, brief: true, ..Query::default() };
        let newest = table.browse(&some(Order::Newest, NEWEST)).await?.rows;
        let oldest = table.browse(&some(Order::Oldest, 1)).await?.rows.into_iter().next();
        let last_error = newest.iter().find_map(|row| error_of(&make.contract, row));
        failed.push(Failed { count: count.clone(), since: oldest.and_then(|row| changed(&row)), last_error });
    }
    Ok(Counts { states, lag, failed, away: None })
}

/// Where this stage's rows end if they can't be delivered.
fn failed_states(make: &LaneMake) -> Vec<StateId> {
    let stage = &make.contract.stages[make.stage];
    let mut states = vec![stage.dead, stage.rejected];
    states.sort_unstable();
    states.dedup();
    states.retain(|state| make.contract.is_final(*state));
    states
}

fn changed(row: &RowView) -> Option<Moment> {
    let times = [Role::Finished, Role::Updated, Role::Attempted, Role::ClaimedAt, Role::Created];
    times.iter().find_map(|role| row.times.get(role)).copied().map(Moment::from_micros)
}

fn error_of(contract: &Contract, row: &RowView) -> Option<String> {
    let column = contract.column(Role::Error)?;
    let text = error_words(row.column(column)?)?;
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).take(WORDS).collect();
    Some(line)
}
