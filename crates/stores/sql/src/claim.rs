//! Runs claim and load, and computes when to poll next.

pub(crate) mod columns;
pub(crate) mod join;
pub(crate) mod lost;
mod next_due;
pub(crate) mod row;
pub(crate) mod statements;
mod tally;

use std::collections::HashMap;
use std::time::Duration;

use postrider_contract::StateId;
use postrider_seams::row::{ClaimedRow, Fields, Lease, RowId, Value};
use postrider_seams::store::Error;

use crate::bind::{self, Values};
use crate::driver::{Driver, Output};
use crate::groups::cursor;
use crate::open_table::OpenTable;
use crate::pools::cache::Free;

impl OpenTable {
    /// Claims up to `limit` rows: free rows and ordered groups.
    pub async fn claim(&self, on: &impl Driver, limit: u32) -> Result<Vec<ClaimedRow>, Error> {
        self.claim_free(on, limit, Free::All).await
    }

    pub(crate) async fn claim_free(
        &self,
        on: &impl Driver,
        limit: u32,
        free: Free,
    ) -> Result<Vec<ClaimedRow>, Error> {
        self.kept_error()?;
        self.keep_known(on).await?;
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
        free: Free,
    ) -> Result<Vec<ClaimedRow>, Error> {
        match (&self.statements.shares, free) {
            (Some(shares), _) => return self.claim_shares(on, shares, limit, free).await,
            (None, Free::OfPools) => return Ok(Vec::new()),
            (None, Free::All) => {}
        }
        let mut claimed: Vec<ClaimedRow> = Vec::new();
        for (index, script) in self.statements.claim.iter().enumerate() {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 {
                break;
            }
            let given = Values { claim_time: self.claim_time(), ..Values::limit(on.owner(), left) };
            let done = match on.run("claim rows", script, &given).await {
                Ok(done) => done,
                Err(error) if !claimed.is_empty() => {
                    self.keep_error(error);
                    break;
                }
                Err(error) => return Err(error),
            };
            claimed.extend(self.read_claimed(done, self.claimed_from(index)));
        }
        Ok(claimed)
    }

    /// MySQL: the column in which a pick yields the claim time.
    pub(crate) fn claim_time(&self) -> Option<usize> {
        self.statements.layout.claim_time.map(|fence| fence + 1)
    }

    /// Loads the message fields of leased rows, in the order of `leases`; `None` for a row that no longer exists.
    pub async fn load(&self, on: &impl Driver, leases: &[Lease]) -> Result<Vec<Option<Fields>>, Error> {
        let mut found: HashMap<RowId, Fields> = HashMap::with_capacity(leases.len());
        for part in leases.chunks(self.batch) {
            let ids: Vec<RowId> = part.iter().map(|lease| lease.id.clone()).collect();
            let mut joined = self.joined(on, ids.clone()).await?;
            let given = Values::ids(on.owner(), ids);
            for mut row in on.run("load message columns", &self.statements.load, &given).await?.into_rows() {
                if let Some((id, fields)) =
                    bind::fields(&self.statements.layout, |at| taken_from(&mut row, at))
                {
                    let more = joined.remove(&id);
                    found.insert(id, self.with_joined(fields, more));
                }
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
        let given = Values::limit(on.owner(), 1);
        let done = on.run("find the next due row", &self.statements.next_due, &given).await?;
        Ok(match done.first() {
            Value::Int(micros) => Some(Duration::from_micros(u64::try_from(micros).unwrap_or(0))),
            _ => None,
        })
    }

    pub(crate) fn read_claimed(&self, mut done: Output, from: Option<StateId>) -> Vec<ClaimedRow> {
        let order = std::mem::take(&mut done.order);
        let mut claimed = Vec::new();
        for mut row in done.into_rows() {
            let read = bind::claimed(&self.statements.layout, from, |at| taken_from(&mut row, at));
            if read.is_none() {
                tracing::error!("a claimed row has no readable key; it is left to its lease");
            }
            claimed.extend(read);
        }
        self.unanswered.forget(claimed.iter().map(|row| &row.lease.id));
        if order.is_empty() { claimed } else { bind::in_order(claimed, &order) }
    }

    /// The state from which a script claims; there is either one script per ready state, or one for all of them.
    fn claimed_from(&self, script: usize) -> Option<StateId> {
        let each = self.statements.claim.len() == self.stage.ready.len();
        each.then(|| self.stage.ready.get(script).copied()).flatten()
    }

    /// Adds the joined fields. The rows are already claimed: if the join fails, they come without their fields, and
    /// [`OpenTable::load`] tries again.
    pub(crate) async fn join_claimed(&self, on: &impl Driver, claimed: &mut [ClaimedRow]) {
        if self.statements.join.is_none() {
            return;
        }
        for part in claimed.chunks_mut(self.batch) {
            let ids =
                part.iter().filter(|row| row.fields.is_some()).map(|row| row.lease.id.clone()).collect();
            let joined = self.joined(on, ids).await;
            for row in part {
                let fields = row.fields.take();
                row.fields = match &joined {
                    Ok(joined) => fields.map(|own| self.with_joined(own, joined.get(&row.lease.id).cloned())),
                    Err(_) => None,
                };
            }
        }
    }

    async fn joined(&self, on: &impl Driver, ids: Vec<RowId>) -> Result<HashMap<RowId, Vec<Value>>, Error> {
        let Some(script) = self.statements.join.as_ref().filter(|_| !ids.is_empty()) else {
            return Ok(HashMap::new());
        };
        let rows = on.run("read joined rows", script, &Values::ids(on.owner(), ids)).await?.into_rows();
        let read = |mut row: Vec<Value>| bind::joined(&self.statements.layout, |at| taken_from(&mut row, at));
        Ok(rows.into_iter().filter_map(read).collect())
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

/// Moves a value out of its row; NULL past the end.
pub(crate) fn taken_from(row: &mut [Value], at: usize) -> Value {
    row.get_mut(at).map(std::mem::take).unwrap_or_default()
}
