//! Implements the operators' views and moves.

use std::sync::PoisonError;
use std::time::Duration;

use async_trait::async_trait;
use aws_sdk_dynamodb::types::AttributeValue;
use postrider_contract::{ColumnRole, OperatorMove, StateId, Transition};
use postrider_rows::{due_in, micros, state_of, times};
use postrider_seams::Value;
use postrider_seams::inspect::{
    COUNT_LIMIT, Finding, HistoryEntry, Inspect, Lag, Matching, OperatorAction, Page, Preview, Query,
    RowPosition, RowView, SearchBy, Searchable, SelectedRows, StateCount,
};
use postrider_seams::store::Error;
use tokio::time::Instant;

use crate::error;
use crate::layout::{self, ATTRIBUTES, META, REASON, STATUS, UPDATED_AT};
use crate::record::Record;
use crate::store::DynamoStore;
use crate::verify;

/// Minimum time between two measurements of the lag: each reads the index page by page.
const LAG_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum of requests for one page of a list, if few records match.
const MAX_REQUESTS: usize = 100;

impl DynamoStore {
    fn view(&self, record: &Record) -> RowView {
        let state =
            state_of(&self.contract, &record.row).map(|state| self.contract.state(state).name.clone());
        let display_text = |(column, value): (&String, &Value)| {
            let text = match value {
                Value::Int(time) if self.layout.is_time(column) => Some(layout::time(*time)),
                other => display_text(other),
            };
            (column.clone(), text)
        };
        let mut columns: Vec<_> = record.row.iter().map(display_text).collect();
        // Show the same columns for an e-mail on every database: here its version is 0.
        columns.push(("version".to_owned(), Some("0".to_owned())));
        columns.push((self.target.ttl.clone(), record.ttl.map(|ttl| ttl.to_string())));
        let read_at = self.database.clock.now();
        RowView {
            id: record.id.clone(),
            state,
            columns,
            times: times(&self.contract, &record.row),
            due_in: due_in(&self.contract, self.stage(), &record.row, read_at),
            read_at,
        }
    }

    fn state_named(&self, name: &str) -> Result<StateId, Error> {
        self.contract.state_named(name).ok_or_else(|| error::unknown_state(name))
    }

    async fn matching_records(&self, which: &SelectedRows) -> Result<Vec<Record>, Error> {
        match which {
            SelectedRows::Ids(ids) => {
                let mut found = Vec::new();
                for id in ids {
                    found.extend(self.current(id).await?);
                }
                Ok(found)
            }
            SelectedRows::State { state, since, limit } => {
                let measure_lag = since.map(|since| self.database.clock.now() - micros(since));
                let young = |record: &Record| {
                    measure_lag.is_none_or(|measure_lag| {
                        self.time(record, ColumnRole::Updated).is_some_and(|at| at >= measure_lag)
                    })
                };
                self.find_records("operate", &[self.state_named(state)?], *limit as usize, young).await
            }
        }
    }

    async fn operator_move_records(
        &self,
        which: &SelectedRows,
        rule: &OperatorMove,
        transition: Transition,
    ) -> Result<u64, Error> {
        let chosen = self.matching_records(which).await?;
        let mut made = 0;
        for pair in &rule.moves {
            let step = self.contract.operator_move(self.stage(), transition, pair);
            let is_in = |record: &&Record| state_of(&self.contract, &record.row) == Some(pair.0);
            let records: Vec<Record> = chosen.iter().filter(is_in).cloned().collect();
            made += self.apply_each(&records, &step, None).await?;
        }
        Ok(made)
    }

    async fn measure_lag(&self) -> Result<Lag, Error> {
        let now = self.database.clock.now();
        let since = |record: &Record| match self.due_of(record) {
            i64::MIN => {
                self.time(record, ColumnRole::Created).or_else(|| self.time(record, ColumnRole::Updated))
            }
            due => Some(due),
        };
        let ready = self.find_records("lag", &self.stage().ready, usize::MAX, |_| true).await?;
        let claimed = self.find_records("lag", &self.claimed_states(), usize::MAX, |_| true).await?;
        let due = ready.iter().filter_map(since).filter(|due| *due <= now).min();
        let claim = claimed.iter().filter_map(|record| self.time(record, ColumnRole::ClaimedAt)).min();
        #[expect(clippy::cast_precision_loss, reason = "seconds for people")]
        let seconds = |since: i64| (now - since) as f64 / 1e6;
        Ok(Lag { oldest_due_seconds: due.map(seconds), oldest_claim_seconds: claim.map(seconds) })
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

/// Formats the record of one state as a line: time and reason.
fn history_line(attributes: &std::collections::HashMap<String, AttributeValue>) -> String {
    let text =
        |name: &str| attributes.get(name).and_then(|value| value.as_s().ok()).map_or("", String::as_str);
    format!("{} {}", text(UPDATED_AT), text(REASON)).trim_end().to_owned()
}

#[async_trait]
impl Inspect for DynamoStore {
    async fn verify(&self) -> Result<Vec<Finding>, Error> {
        verify::findings(self).await
    }

    async fn unknown_states(&self) -> Result<Vec<String>, Error> {
        verify::unknown_records(self).await
    }

    /// Counts the records by state, in one bounded walk over the index.
    /// Locks are items of the table itself.
    async fn has_locks(&self) -> Result<bool, Error> {
        Ok(true)
    }

    async fn count_by_state(&self) -> Result<Vec<StateCount>, Error> {
        let mut rows = vec![0_u64; self.contract.states.len()];
        let mut scan = self.scan("census", None);
        let mut seen = 0;
        while seen < COUNT_LIMIT
            && let Some(page) = self.next_page("census", &mut scan).await?
        {
            seen += page.len() as u64;
            for state in page.iter().filter_map(|record| state_of(&self.contract, &record.row)) {
                rows[state.0] += 1;
            }
        }
        let more = !scan.saw_all();
        let count = |(state, rows): (&postrider_contract::State, u64)| StateCount {
            state: state.name.clone(),
            rows,
            more: more && rows > 0,
        };
        Ok(self.contract.states.iter().zip(rows).map(count).collect())
    }

    /// Returns the searches that DynamoDB supports: by key alone.
    fn searches(&self) -> Vec<Searchable> {
        vec![Searchable { by: SearchBy::Id, exact: true, prefix: false, indexed: true }]
    }

    /// Lists records in the order of the index, the only one that DynamoDB has.
    async fn list(&self, query: &Query) -> Result<Page, Error> {
        if let Some(search) = &query.search {
            if (search.by, search.matching) != (SearchBy::Id, Matching::Exact) {
                return Err(error::not_searched(search.by.name()));
            }
            let found = self.current(&search.text).await?.map(|record| self.view(&record));
            let fits = |row: &RowView| query.state.is_none() || row.state == query.state;
            return Ok(Page { rows: found.into_iter().filter(fits).collect(), next: None, note: None });
        }
        let wanted = query.state.as_deref().map(|state| self.state_named(state)).transpose()?;
        let statement = self.target.by_state(wanted.map(|state| self.status_of(state)));
        let now = self.database.clock.now();
        let mut rows = Vec::new();
        let mut next = query.after.clone();
        for _ in 0..MAX_REQUESTS {
            let room = (query.limit as usize).saturating_sub(rows.len());
            let limit = i32::try_from(room).unwrap_or(i32::MAX).max(1);
            let (items, token) =
                self.database.select("list", &statement, next.as_deref(), Some(limit)).await?;
            let records = items.iter().filter_map(|item| Record::read(&self.layout, &self.target.ttl, item));
            let fits = |record: &Record| {
                !record.is_expired(now)
                    && (wanted.is_none() || state_of(&self.contract, &record.row) == wanted)
            };
            rows.extend(records.filter(fits).map(|record| self.view(&record)));
            next = token;
            if next.is_none() || rows.len() >= query.limit as usize {
                break;
            }
        }
        let note = "DynamoDB keeps rows in no order of time".to_owned();
        Ok(Page { rows, next, note: Some(note) })
    }

    /// Returns the record, and a line for each state reached.
    async fn show(&self, id: &str) -> Result<Option<RowView>, Error> {
        let (items, _) = self.database.select("show", &self.target.all_records(id), None, None).await?;
        let status =
            |item: &crate::requests::Item| item.get(STATUS).and_then(|status| status.as_s().ok()).cloned();
        let Some(meta) = items
            .iter()
            .find(|item| status(item).as_deref() == Some(META))
            .and_then(|item| Record::read(&self.layout, &self.target.ttl, item))
        else {
            return Ok(None);
        };
        let mut view = self.view(&meta);
        let reached = items.iter().filter_map(|item| {
            let state = status(item).filter(|state| state != META)?;
            let attributes = item.get(ATTRIBUTES)?.as_m().ok()?;
            Some((format!("history.{state}"), Some(history_line(attributes))))
        });
        let mut reached: Vec<(String, Option<String>)> = reached.collect();
        reached.sort_by(|a, b| a.1.cmp(&b.1));
        view.columns.extend(reached);
        Ok(Some(view))
    }

    /// Returns the record of each state reached.
    async fn history(&self, id: &str) -> Result<Vec<HistoryEntry>, Error> {
        let (items, _) = self.database.select("show", &self.target.all_records(id), None, None).await?;
        let recorded = |item: &crate::requests::Item| {
            let state = item.get(STATUS)?.as_s().ok().filter(|state| *state != META)?.clone();
            let attributes = item.get(ATTRIBUTES)?.as_m().ok()?;
            let text = |name: &str| attributes.get(name).and_then(|value| value.as_s().ok()).cloned();
            let at = text(UPDATED_AT).as_deref().and_then(layout::micros);
            let columns = vec![("status".to_owned(), Some(state)), ("reason".to_owned(), text(REASON))];
            Some(HistoryEntry { table: "history".to_owned(), at, columns })
        };
        let mut found: Vec<HistoryEntry> = items.iter().filter_map(recorded).collect();
        found.sort_by_key(|record| record.at);
        Ok(found)
    }

    /// Returns nothing: this layout has no groups and no pools.
    async fn position(&self, _: &RowView) -> Result<RowPosition, Error> {
        Ok(RowPosition::default())
    }

    async fn preview(&self, action: OperatorAction, which: &SelectedRows) -> Result<Preview, Error> {
        let from: Vec<StateId> =
            action.moves(&self.contract, self.stage()).into_iter().map(|(from, _)| from).collect();
        let chosen = self.matching_records(which).await?;
        let fits = |record: &&Record| {
            state_of(&self.contract, &record.row).is_some_and(|state| from.contains(&state))
        };
        Ok(Preview::counted(chosen.iter().filter(fits).count() as u64))
    }

    async fn release(&self, which: &SelectedRows) -> Result<u64, Error> {
        let moves = OperatorAction::Release.moves(&self.contract, self.stage());
        if moves.is_empty() {
            return Err(error::no_such_move("release"));
        }
        self.operator_move_records(which, &OperatorMove { moves }, Transition::Released).await
    }

    async fn requeue(&self, which: &SelectedRows) -> Result<u64, Error> {
        let rule = self.contract.requeue.as_ref().ok_or_else(|| error::no_such_move("requeue"))?;
        self.operator_move_records(which, rule, Transition::Requeued).await
    }

    async fn cancel(&self, which: &SelectedRows) -> Result<u64, Error> {
        let rule = self.contract.cancel.as_ref().ok_or_else(|| error::no_such_move("cancel"))?;
        self.operator_move_records(which, rule, Transition::Cancelled).await
    }

    async fn lag(&self) -> Result<Lag, Error> {
        let known = *self.lag.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, lag)) = known.filter(|(at, _)| at.elapsed() < LAG_INTERVAL) {
            return Ok(lag);
        }
        let lag = self.measure_lag().await?;
        *self.lag.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), lag));
        Ok(lag)
    }
}
