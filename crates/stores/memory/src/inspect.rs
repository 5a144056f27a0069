//! The operators' view of the table: lists, searches, requeue, cancel and release.

use async_trait::async_trait;
use postrider_contract::{ColumnRole, Expr, OperatorMove, StateId, Transition};
use postrider_rows::{Row, due_at, due_in, int, micros, role_value, state_of, times};
use postrider_seams::inspect::{
    COUNT_LIMIT, Finding, HistoryEntry, Inspect, Lag, Level, Matching, OperatorAction, Order, Page, Preview,
    Query, RowPosition, RowView, Search, SearchBy, Searchable, SelectedRows, StateCount,
};
use postrider_seams::store::Error;
use postrider_seams::{RowId, Value};

use crate::error;
use crate::store::MemoryStore;
use crate::table::TableState;

impl MemoryStore {
    fn view(&self, id: &RowId, row: &Row) -> RowView {
        let state = state_of(self.contract(), row).map(|state| self.contract().state(state).name.clone());
        let columns = row.iter().map(|(column, value)| (column.clone(), display_text(value))).collect();
        let read_at = self.table.now();
        RowView {
            id: id.to_string(),
            state,
            columns,
            times: times(self.contract(), row),
            due_in: due_in(self.contract(), self.stage(), row, read_at),
            read_at,
        }
    }

    fn state_named(&self, name: &str) -> Result<StateId, Error> {
        self.contract().state_named(name).ok_or_else(|| error::unknown_state(name))
    }

    fn matching_ids(&self, table: &TableState, which: &SelectedRows) -> Result<Vec<RowId>, Error> {
        Ok(match which {
            SelectedRows::Ids(ids) => {
                let named = |id: &&RowId| ids.contains(&id.to_string());
                table.rows.keys().filter(named).cloned().collect()
            }
            SelectedRows::State { state, since, limit } => {
                let now = self.table.now();
                let changed = |row: &Row| {
                    let times = [
                        ColumnRole::Updated,
                        ColumnRole::Finished,
                        ColumnRole::Attempted,
                        ColumnRole::ClaimedAt,
                        ColumnRole::Created,
                    ];
                    times.into_iter().find_map(|time| int(role_value(self.contract(), row, time)))
                };
                let young = |row: &Row| {
                    since.is_none_or(|since| changed(row).is_some_and(|at| at >= now - micros(since)))
                };
                self.find_rows(table, &[self.state_named(state)?], *limit, young)
            }
        })
    }

    fn matches(&self, row: &RowView, search: &Search) -> bool {
        let column = search.by.column(self.contract());
        let Some(value) = column.as_deref().and_then(|column| row.column(column)) else { return false };
        match (search.by, search.matching) {
            (SearchBy::Error, _) => {
                let failed = self.contract().stages.iter().flat_map(|stage| [stage.dead, stage.rejected]);
                let failed: Vec<&str> =
                    failed.map(|state| self.contract().state(state).name.as_str()).collect();
                let is_failed = row.state.as_deref().is_some_and(|state| failed.contains(&state));
                is_failed && value.to_lowercase().contains(&search.text.to_lowercase())
            }
            (_, Matching::Exact) => value == search.text,
            (_, Matching::Prefix) => value.starts_with(&search.text),
        }
    }

    fn operator_move_rows(
        &self,
        which: &SelectedRows,
        rule: &OperatorMove,
        transition: Transition,
    ) -> Result<u64, Error> {
        let mut table = self.table.lock();
        let mut moved = 0;
        let chosen = self.matching_ids(&table, which)?;
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

fn display_text(value: &Value) -> Option<String> {
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
        Ok(vec![Finding { level: Level::Warning, text, fix: None }])
    }

    async fn has_locks(&self) -> Result<bool, Error> {
        Ok(true)
    }

    async fn count_by_state(&self) -> Result<Vec<StateCount>, Error> {
        let table = self.table.lock();
        let count = |(index, state): (usize, &postrider_contract::State)| {
            let rows =
                table.index.get(&Some(StateId(index))).map_or(0, std::collections::BTreeSet::len) as u64;
            StateCount { state: state.name.clone(), rows: rows.min(COUNT_LIMIT), more: rows > COUNT_LIMIT }
        };
        Ok(self.contract().states.iter().enumerate().map(count).collect())
    }

    fn searches(&self) -> Vec<Searchable> {
        let has = |by: &SearchBy| by.column(self.contract()).is_some();
        let offered = |by| {
            let plain = by != SearchBy::Error;
            Searchable { by, exact: plain, prefix: plain, indexed: plain }
        };
        SearchBy::ALL.into_iter().filter(has).map(offered).collect()
    }

    async fn list(&self, query: &Query) -> Result<Page, Error> {
        let wanted = query.state.as_deref().map(|state| self.state_named(state)).transpose()?;
        let table = self.table.lock();
        let mut ids: Vec<_> = table.rows.keys().collect();
        match query.order {
            Order::Newest => ids.sort_by(|a, b| b.cmp(a)),
            Order::Oldest => ids.sort(),
        }
        let rows: Vec<_> = ids
            .into_iter()
            .skip_while(|id| query.after.as_ref().is_some_and(|after| id.to_string() != *after))
            .skip(usize::from(query.after.is_some()))
            .filter(|id| wanted.is_none() || state_of(self.contract(), &table.rows[*id]) == wanted)
            .map(|id| self.view(id, &table.rows[id]))
            .filter(|row| query.search.as_ref().is_none_or(|search| self.matches(row, search)))
            .take(query.limit as usize)
            .collect();
        let full = rows.len() == query.limit as usize;
        let next = rows.last().filter(|_| full).map(|row| row.id.clone());
        Ok(Page { rows, next, note: None })
    }

    async fn show(&self, id: &str) -> Result<Option<RowView>, Error> {
        let table = self.table.lock();
        Ok(table.rows.iter().find(|(key, _)| key.to_string() == id).map(|(key, row)| self.view(key, row)))
    }

    async fn history(&self, id: &str) -> Result<Vec<HistoryEntry>, Error> {
        let table = self.table.lock();
        let mut found = Vec::new();
        for (name, row) in &table.effects {
            let Some(effect) = self.contract().effects.iter().find(|effect| effect.table == *name) else {
                continue;
            };
            let column =
                |wanted: &Expr| effect.values.iter().find(|(_, value)| value == wanted).map(|(name, _)| name);
            let (Some(key), Some(at)) = (column(&Expr::Id), column(&Expr::Now)) else { continue };
            if row.get(key).and_then(display_text).as_deref() == Some(id) {
                let columns =
                    row.iter().map(|(column, value)| (column.clone(), display_text(value))).collect();
                found.push(HistoryEntry { table: name.clone(), at: row.get(at).and_then(int), columns });
            }
        }
        Ok(found)
    }

    /// Returns nothing: this store evaluates groups and pools only in claims.
    async fn position(&self, _: &RowView) -> Result<RowPosition, Error> {
        Ok(RowPosition::default())
    }

    async fn preview(&self, action: OperatorAction, which: &SelectedRows) -> Result<Preview, Error> {
        let from: Vec<StateId> =
            action.moves(self.contract(), self.stage()).into_iter().map(|(from, _)| from).collect();
        let table = self.table.lock();
        let chosen = self.matching_ids(&table, which)?;
        let fits = |id: &&RowId| {
            state_of(self.contract(), &table.rows[*id]).is_some_and(|state| from.contains(&state))
        };
        Ok(Preview::counted(chosen.iter().filter(fits).count() as u64))
    }

    async fn release(&self, which: &SelectedRows) -> Result<u64, Error> {
        let moves = OperatorAction::Release.moves(self.contract(), self.stage());
        if moves.is_empty() {
            return Err(error::no_such_move("release"));
        }
        self.operator_move_rows(which, &OperatorMove { moves }, Transition::Released)
    }

    async fn requeue(&self, which: &SelectedRows) -> Result<u64, Error> {
        let rule = self.contract().requeue.as_ref().ok_or_else(|| error::no_such_move("requeue"))?;
        self.operator_move_rows(which, rule, Transition::Requeued)
    }

    async fn cancel(&self, which: &SelectedRows) -> Result<u64, Error> {
        let rule = self.contract().cancel.as_ref().ok_or_else(|| error::no_such_move("cancel"))?;
        self.operator_move_rows(which, rule, Transition::Cancelled)
    }

    async fn lag(&self) -> Result<Lag, Error> {
        let now = self.table.now();
        let table = self.table.lock();
        let rows = |states: &[StateId]| table.in_states(states);
        // A row that is always due has been due since it was created.
        let since = |row: &Row| match due_at(self.contract(), self.stage(), row)? {
            i64::MIN => int(role_value(self.contract(), row, ColumnRole::Created)),
            due => Some(due),
        };
        let ready = rows(&self.stage().ready);
        let due = ready.iter().filter_map(|id| since(&table.rows[id])).filter(|due| *due <= now).min();
        let claim = rows(&self.claimed_states())
            .iter()
            .filter_map(|id| int(role_value(self.contract(), &table.rows[id], ColumnRole::ClaimedAt)))
            .min();
        #[allow(clippy::cast_precision_loss)] // seconds for people
        let seconds = |since: i64| (now - since) as f64 / 1e6;
        Ok(Lag { oldest_due_seconds: due.map(seconds), oldest_claim_seconds: claim.map(seconds) })
    }
}
