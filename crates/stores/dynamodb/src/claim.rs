//! Claims rows and loads their content.

use std::collections::HashSet;
use std::sync::atomic::Ordering::Relaxed;

use postrider_contract::{ColumnRole, StateId, Transition};
use postrider_rows::{counters, due_at, has_attempts_left, is_blocked_by_sweep, matches_filter, state_of};
use postrider_seams::row::Detail;
use postrider_seams::store::{Class, Error};
use postrider_seams::{ClaimedRow, Fields, Lease, RowId, Value};
use rand::seq::SliceRandom as _;

use crate::record::Record;
use crate::store::DynamoStore;

impl DynamoStore {
    pub(crate) async fn claim_records(&self, limit: usize) -> Result<Vec<ClaimedRow>, Error> {
        // The last call claimed rows before it failed, or some of its claims failed and may have been made nevertheless:
        // return that error now, so that the caller reports it and releases them.
        self.claim_error().take().map_or(Ok(()), Err)?;
        let mut claimed_rows = Vec::new();
        let mut next = Some(i64::MAX);
        for status in self.statuses(&self.stage().ready) {
            match self.claim_in(&status, limit, &mut claimed_rows).await {
                Ok(earliest) => next = next.zip(earliest).map(|(next, earliest)| next.min(earliest)),
                Err(error) if claimed_rows.is_empty() => return Err(error),
                // Keep the rows of earlier pages, which would otherwise wait for the end of their lease.
                Err(error) => {
                    *self.claim_error() = Some(error);
                    next = None;
                    break;
                }
            }
        }
        self.remember_next_due(next);
        self.add_crash_counts(&mut claimed_rows).await;
        Ok(claimed_rows)
    }

    /// Claims rows in one state. Returns when the first of the remaining ones is due, if it has seen all of them.
    async fn claim_in(
        &self,
        status: &str,
        limit: usize,
        claimed_rows: &mut Vec<ClaimedRow>,
    ) -> Result<Option<i64>, Error> {
        let mut scan = self.claim_scan(status);
        let mut tried = HashSet::new();
        let mut earliest = i64::MAX;
        while claimed_rows.len() < limit {
            let Some(page) = self.next_page("claim", &mut scan).await? else {
                return Ok(scan.saw_all().then_some(earliest));
            };
            let now = self.database.clock.now();
            let (mut due, later): (Vec<Record>, Vec<Record>) = self
                .with_ttl(page)
                .await?
                .into_iter()
                .filter(|record| self.is_ready(record) && tried.insert(record.id.clone()))
                .partition(|record| self.due_of(record) <= now);
            earliest = later.iter().map(|record| self.due_of(record)).fold(earliest, i64::min);
            self.sort_or_shuffle(&mut due);
            let remaining = limit - claimed_rows.len();
            let has_more = due.len() > remaining;
            due.truncate(remaining);
            claimed_rows.extend(self.claim_each(due).await?);
            if claimed_rows.len() >= limit {
                self.stop(&scan, has_more);
            }
        }
        Ok(None)
    }

    async fn claim_each(&self, records: Vec<Record>) -> Result<Vec<ClaimedRow>, Error> {
        let wanted = records.len();
        let claims = records.into_iter().map(|record| self.claim_one(record)).collect();
        let claimed = self.database.in_parallel(claims).await;
        // Keep the rows that were claimed if other claims failed.
        let (done, failed): (Vec<_>, Vec<_>) = claimed.into_iter().partition(Result::is_ok);
        let claimed: Vec<ClaimedRow> = done.into_iter().flatten().flatten().collect();
        match failed.into_iter().find_map(Result::err) {
            Some(error) if claimed.is_empty() => return Err(error),
            Some(error) if error.class == Class::Transient => *self.claim_error() = Some(error),
            Some(_) | None => {}
        }
        self.contended.store(claimed.len() < wanted, Relaxed);
        Ok(claimed)
    }

    /// Sorts the records, oldest first; shuffles them if other workers were faster last time, to avoid the same
    /// contention.
    fn sort_or_shuffle(&self, due: &mut [Record]) {
        if self.contended.load(Relaxed) {
            due.shuffle(&mut rand::rng());
        } else {
            due.sort_by_cached_key(|record| (self.time(record, ColumnRole::Updated), record.id.clone()));
        }
    }

    async fn claim_one(&self, before: Record) -> Result<Option<ClaimedRow>, Error> {
        let no_detail = Detail::new();
        let input = self.transition_input(&no_detail, None);
        let step = self.contract.lease_move(self.stage(), Transition::Claimed);
        let Some(after) = self.apply_move(&step, &before, &input).await? else { return Ok(None) };
        let since = match due_at(&self.contract, self.stage(), &before.row) {
            Some(i64::MIN) | None => {
                self.time(&before, ColumnRole::Created).or_else(|| self.time(&before, ColumnRole::Updated))
            }
            due => due,
        };
        let claimed = ClaimedRow {
            lease: lease_of(&after),
            counters: counters(&self.contract, self.stage(), &after.row),
            from: state_of(&self.contract, &before.row),
            group: None,
            pool: None,
            share: None,
            crashes: 0,
            since_crash: 0,
            waited_micros: (input.now - since.unwrap_or(input.now)).max(0),
            size: 0,
            fields: Some(self.fields(&after)),
        };
        self.unknown_fences.forget(&after.id);
        self.held.insert(after);
        Ok(Some(claimed))
    }

    /// Whether the record is in a ready state, passes the filter and has attempts left, due or not.
    fn is_ready(&self, record: &Record) -> bool {
        let state = state_of(&self.contract, &record.row);
        state.is_some_and(|state| self.stage().ready.contains(&state))
            && matches_filter(&self.contract, &record.row)
            && !is_blocked_by_sweep(&self.contract, &record.row, self.database.clock.now())
            && has_attempts_left(&self.contract, self.stage(), &record.row)
    }

    pub(crate) fn due_of(&self, record: &Record) -> i64 {
        due_at(&self.contract, self.stage(), &record.row).unwrap_or(i64::MAX)
    }

    /// Reads the time to live from the table if the index does not have it.
    async fn with_ttl(&self, page: Vec<Record>) -> Result<Vec<Record>, Error> {
        if self.target.projects_ttl {
            return Ok(page);
        }
        let wanted: Vec<Record> = page.into_iter().filter(|record| self.is_ready(record)).collect();
        let read = wanted.iter().map(|record| self.current(&record.id)).collect();
        self.database.in_parallel(read).await.into_iter().filter_map(Result::transpose).collect()
    }

    /// Returns the values of `Latest` in these states, each once.
    pub(crate) fn statuses(&self, states: &[StateId]) -> Vec<String> {
        let mut found: Vec<String> = Vec::new();
        for status in states.iter().map(|state| self.status_of(*state)) {
            if !found.iter().any(|held_record| held_record == status) {
                found.push(status.to_owned());
            }
        }
        found
    }

    /// Reads the `_META` record from the table; `None` if its time to live is over.
    pub(crate) async fn current(&self, id: &str) -> Result<Option<Record>, Error> {
        let (items, _) = self.database.select("read a record", &self.target.meta(id), None, None).await?;
        let now = self.database.clock.now();
        let record = items.first().and_then(|item| Record::read(&self.layout, &self.target.ttl, item));
        Ok(record.filter(|record| !record.is_expired(now)))
    }

    /// Returns the record of a lease if the lease still holds.
    pub(crate) async fn record_of_lease(&self, lease: &Lease) -> Result<Option<Record>, Error> {
        let RowId::Text(id) = &lease.id else { return Ok(None) };
        let given = lease.fence.first().and_then(Value::as_text);
        let holds = |record: &Record| {
            let state = state_of(&self.contract, &record.row);
            let fence = record.fence();
            let is_extended = || {
                given.zip(fence).is_some_and(|(given, fence)| self.unknown_fences.may_be(id, given, fence))
            };
            (fence == given || is_extended())
                && self.claimed_states().iter().any(|claimed| state == Some(*claimed))
        };
        if let Some(held_record) = self.held.get(id).filter(holds) {
            return Ok(Some(held_record));
        }
        Ok(self.current(id).await?.filter(holds))
    }

    pub(crate) async fn load_one(&self, lease: &Lease) -> Result<Option<Fields>, Error> {
        let RowId::Text(id) = &lease.id else { return Ok(None) };
        Ok(self.current(id).await?.map(|record| self.fields(&record)))
    }

    pub(crate) fn fields(&self, record: &Record) -> Fields {
        let value = |column: &String| record.row.get(column).cloned().unwrap_or_default();
        let values = self.field_columns.iter().map(value).chain(self.reached(record));
        Fields::new(self.field_names.clone(), values.collect())
    }
}

pub(crate) fn lease_of(record: &Record) -> Lease {
    let fence = record.fence().map_or(Value::Null, |text| Value::Text(text.to_owned()));
    Lease { id: RowId::Text(record.id.as_str().into()), fence: Box::new([fence]) }
}
