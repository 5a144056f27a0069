//! What operators see and do, in memory.

use async_trait::async_trait;
use postrider_contract::{OperatorMove, Role, StateId, Transition};
use postrider_rows::{Row, due_at, int, micros, role, state_of};
use postrider_seams::inspect::{
    COUNT_LIMIT, Count, Finding, Inspect, Lag, Level, Page, Query, RowView, Which,
};
use postrider_seams::store::Error;
use postrider_seams::{RowId, Value};

use crate::error;
use crate::store::MemoryStore;
use crate::table::Table;

impl MemoryStore {
    fn view(&self, id: &RowId, row: &Row) -> RowView {
        let state = state_of(self.contract(), row).map(|state| self.contract().state(state).name.clone());
        let columns = row.iter().map(|(column, value)| (column.clone(), shown(value))).collect();
        RowView { id: id.to_string(), state, columns }
    }

    fn state_named(&self, name: &str) -> Result<StateId, Error> {
        self.contract().state_named(name).ok_or_else(|| error::unknown_state(name))
    }

    fn which(&self, table: &Table, which: &Which) -> Result<Vec<RowId>, Error> {
        Ok(match which {
            Which::Ids(ids) => {
                let named = |id: &&RowId| ids.contains(&id.to_string());
                table.rows.keys().filter(named).cloned().collect()
            }
            Which::State { state, since, limit } => {
                let now = self.table.now();
                let changed = |row: &Row| {
                    let times =
                        [Role::Updated, Role::Finished, Role::Attempted, Role::ClaimedAt, Role::Created];
                    times.into_iter().find_map(|time| int(role(self.contract(), row, time)))
                };
                let young = |row: &Row| {
                    since.is_none_or(|since| changed(row).is_some_and(|at| at >= now - micros(since)))
                };
                self.choose(table, &[self.state_named(state)?], *limit, young)
            }
        })
    }

    fn operate(&self, which: &Which, rule: &OperatorMove, transition: Transition) -> Result<u64, Error> {
        let mut table = self.table.lock();
        let mut moved = 0;
        let chosen = self.which(&table, which)?;
        for pair in &rule.moves {
            let ids: Vec<_> = chosen
                .iter()
                .filter(|id| state_of(self.contract(), &table.rows[*id]) == Some(pair.0))
                .cloned()
                .collect();
            let step = self.contract().operator_move(self.stage(), transition, pair);
            self.make_moves(&mut table, &ids, &step, None);
            moved += ids.len() as u64;
        }
        drop(table);
        self.table.written.notify_waiters();
        Ok(moved)
    }
}

fn shown(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Bool(value) => Some(value.to_string()),
        Value::Int(value) => Some(value.to_string()),
        Value::Float(value) => Some(value.to_string()),
        Value::Text(value) => Some(value.clone()),
        Value::Bytes(value) => Some(String::from_utf8_lossy(value).into_owned()),
    }
}

#[async_trait]
impl Inspect for MemoryStore {
    async fn verify(&self) -> Result<Vec<Finding>, Error> {
        let text = "rows are kept in memory and are gone when the process ends".to_owned();
        Ok(vec![Finding { level: Level::Warning, text, mend: None }])
    }

    async fn census(&self) -> Result<Vec<Count>, Error> {
        let table = self.table.lock();
        let count = |(index, state): (usize, &postrider_contract::State)| {
            let rows =
                table.index.get(&Some(StateId(index))).map_or(0, std::collections::BTreeSet::len) as u64;
            Count { state: state.name.clone(), rows: rows.min(COUNT_LIMIT), more: rows > COUNT_LIMIT }
        };
        Ok(self.contract().states.iter().enumerate().map(count).collect())
    }

    async fn browse(&self, query: &Query) -> Result<Page, Error> {
        let wanted = query.state.as_deref().map(|state| self.state_named(state)).transpose()?;
        let table = self.table.lock();
        let mut ids: Vec<_> = table.rows.keys().collect();
        ids.sort_by(|a, b| b.cmp(a));
        let rows: Vec<_> = ids
            .into_iter()
            .skip_while(|id| query.after.as_ref().is_some_and(|after| id.to_string() != *after))
            .skip(usize::from(query.after.is_some()))
            .filter(|id| wanted.is_none() || state_of(self.contract(), &table.rows[*id]) == wanted)
            .take(query.limit as usize)
            .map(|id| self.view(id, &table.rows[id]))
            .collect();
        let full = rows.len() == query.limit as usize;
        let next = rows.last().filter(|_| full).map(|row| row.id.clone());
        Ok(Page { rows, next })
    }

    async fn show(&self, id: &str) -> Result<Option<RowView>, Error> {
        let table = self.table.lock();
        Ok(table.rows.iter().find(|(key, _)| key.to_string() == id).map(|(key, row)| self.view(key, row)))
    }

    async fn requeue(&self, which: &Which) -> Result<u64, Error> {
        let rule = self.contract().requeue.as_ref().ok_or_else(|| error::no_such_move("requeue"))?;
        self.operate(which, rule, Transition::Requeued)
    }

    async fn cancel(&self, which: &Which) -> Result<u64, Error> {
        let rule = self.contract().cancel.as_ref().ok_or_else(|| error::no_such_move("cancel"))?;
        self.operate(which, rule, Transition::Cancelled)
    }

    async fn lag(&self) -> Result<Lag, Error> {
        let now = self.table.now();
        let table = self.table.lock();
        let rows = |states: &[StateId]| table.in_states(states);
        // A row that was always due has been so since it was created.
        let since = |row: &Row| match due_at(self.contract(), self.stage(), row)? {
            i64::MIN => int(role(self.contract(), row, Role::Created)),
            due => Some(due),
        };
        let ready = rows(&self.stage().ready);
        let due = ready.iter().filter_map(|id| since(&table.rows[id])).filter(|due| *due <= now).min();
        let claim = rows(&self.claimed_states())
            .iter()
            .filter_map(|id| int(role(self.contract(), &table.rows[id], Role::ClaimedAt)))
            .min();
        #[allow(clippy::cast_precision_loss)] // seconds for people
        let seconds = |since: i64| (now - since) as f64 / 1e6;
        Ok(Lag { oldest_due_seconds: due.map(seconds), oldest_claim_seconds: claim.map(seconds) })
    }
}
