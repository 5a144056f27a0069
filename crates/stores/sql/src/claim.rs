//! Runs claim and load, and computes when to poll next.

pub(crate) mod columns;
mod count_fields;
pub(crate) mod join;
pub(crate) mod lists;
pub(crate) mod lost;
pub(crate) mod next_due;
pub(crate) mod params;
pub(crate) mod row;
pub(crate) mod statements;

use std::collections::HashMap;
use std::time::Duration;

use postrider_seams::row::{ClaimedRow, Fields, Lease, RowId, Value};
use postrider_seams::store::Error;

use crate::bind::{Ids, Limit};
use crate::claim::params::Claiming;
use crate::driver::Driver;
use crate::groups::cursor;
use crate::open_table::OpenTable;
use crate::pools::cache::UnorderedRows;

impl OpenTable {
    /// Claims up to `limit` rows: free rows and ordered groups.
    pub async fn claim(&self, on: &impl Driver, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.claim_free(on, limit, UnorderedRows::All).await
    }

    pub(crate) async fn claim_free(
        &self,
        on: &impl Driver,
        limit: u32,
        free: UnorderedRows,
    ) -> Result<Vec<ClaimedRow>, Error> {
        self.kept_error()?;
        self.refresh_cache(on).await?;
        let mut claimed = match &self.statements.groups {
            None => self.claim_rows(on, limit, free).await?,
            Some(groups) => self.claim_both(on, groups, limit, free).await?,
        };
        self.join_claimed(on, &mut claimed).await;
        self.note_crashes(on, &mut claimed).await;
        Ok(claimed)
    }

    /// Claims rows that keep no order, by shares if the contract has them.
    pub(crate) async fn claim_rows(
        &self,
        on: &impl Driver,
        limit: u32,
        free: UnorderedRows,
    ) -> Result<Vec<ClaimedRow>, Error> {
        match (&self.statements.shares, free) {
            (Some(shares), _) => return self.claim_shares(on, shares, limit, free).await,
            (None, UnorderedRows::OfPools) => return Ok(Vec::new()),
            (None, UnorderedRows::All) => {}
        }
        let mut claimed: Vec<ClaimedRow> = Vec::new();
        for script in &self.statements.claim {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 {
                break;
            }
            match on.fetch("claim rows", script, self.claiming(Limit(left))).await {
                Ok(rows) => claimed.extend(self.now_held(rows)),
                Err(error) if !claimed.is_empty() => {
                    self.keep_error(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(claimed)
    }

    pub(crate) fn claiming<P>(&self, params: P) -> Claiming<P> {
        Claiming::new(&self.statements.layout, params)
    }

    /// Loads the message fields of leased rows, in the order of `leases`; `None` for a row that no longer exists.
    pub async fn load(&self, on: &impl Driver, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        let mut found: HashMap<RowId, Fields> = HashMap::with_capacity(leases.len());
        for part in leases.chunks(self.batch) {
            let ids: Vec<RowId> = part.iter().map(|lease| lease.id.clone()).collect();
            let mut joined = self.joined_with_lists(on, &ids).await?;
            for (id, fields) in on.fetch("load message columns", &self.statements.load, Ids(&ids)).await? {
                let more = joined.remove(&id);
                found.insert(id, self.with_joined(fields, more));
            }
        }
        Ok(leases.iter().map(|lease| found.remove(&lease.id)).collect())
    }

    /// Returns the time until the next row is due, or a pool's rate permits one; `None` if no row is known to wait.
    pub async fn next_due(&self, on: &impl Driver) -> Result<Option<Duration>, Error> {
        if self.statements.groups.is_some() && self.group_cursor.is_unfinished() {
            return Ok(Some(cursor::PAUSE));
        }
        // Rows that are due but wait for their pool's rate.
        if let Some(wait) = self.rate_wait(on).await? {
            return Ok(Some(wait));
        }
        let next = on.fetch("find the next due row", &self.statements.next_due, ()).await?;
        Ok(next.into_iter().next().flatten())
    }

    /// Returns claimed rows, whose leases are known again if an extension got no answer.
    pub(crate) fn now_held(&self, claimed: Vec<ClaimedRow>) -> Vec<ClaimedRow> {
        self.unanswered.forget(claimed.iter().map(|row| &row.lease.id));
        claimed
    }

    /// Adds the joined fields. The rows are already claimed: if the join fails, they come without their fields, and
    /// [`OpenTable::load`] tries again.
    pub(crate) async fn join_claimed(&self, on: &impl Driver, claimed: &mut [ClaimedRow]) {
        if self.statements.join.is_none() {
            return;
        }
        for part in claimed.chunks_mut(self.batch) {
            if self.measure_lists(on, part).await.is_err() {
                for row in &mut *part {
                    row.fields = None;
                }
            }
            let inline = part.iter().filter(|row| row.fields.is_some());
            let ids: Vec<RowId> = inline.map(|row| row.lease.id.clone()).collect();
            let joined = self.joined_with_lists(on, &ids).await;
            for row in part {
                let fields = row.fields.take();
                row.fields = match &joined {
                    Ok(joined) => fields.map(|own| self.with_joined(own, joined.get(&row.lease.id).cloned())),
                    Err(_) => None,
                };
            }
        }
    }

    async fn joined_with_lists(
        &self,
        on: &impl Driver,
        ids: &[RowId],
    ) -> Result<HashMap<RowId, Vec<Value>>, Error> {
        let mut joined = self.joined(on, ids).await?;
        for (id, lists) in self.lists(on, ids).await? {
            joined.entry(id).or_default().extend(lists);
        }
        Ok(joined)
    }

    async fn joined(&self, on: &impl Driver, ids: &[RowId]) -> Result<HashMap<RowId, Vec<Value>>, Error> {
        let Some(script) = self.statements.join.as_ref().filter(|_| !ids.is_empty()) else {
            return Ok(HashMap::new());
        };
        Ok(on.fetch("read joined rows", script, Ids(ids)).await?.into_iter().collect())
    }

    fn with_joined(&self, own: Fields, more: Option<Vec<Value>>) -> Fields {
        if self.statements.layout.joined.is_empty() {
            return own;
        }
        let mut values: Vec<Value> = own.iter().map(|(_, value)| value.clone()).collect();
        values.extend(more.unwrap_or_default());
        values.resize(self.names.len(), Value::Null);
        Fields::new(self.names.clone(), values)
    }
}

pub(crate) fn count(claimed: &[ClaimedRow]) -> u32 {
    u32::try_from(claimed.len()).unwrap_or(u32::MAX)
}
