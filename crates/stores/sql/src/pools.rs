//! Claims by shares (fair queueing): some rows of each share, round-robin, and of limited pools only with permits.
//!
//! The shares with waiting rows are cached for a moment, with the limits of their pools; a share that gave fewer rows
//! than planned is forgotten until the next search. All of this is lost with the process, which costs one search.

pub(crate) mod cache;
mod limits;
pub(crate) mod permits;
pub(crate) mod statements;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use postrider_seams::row::{ClaimedRow, RowId, Value};
use postrider_seams::store::Error;

use crate::bind::{self, Groups, Share, Shares, Values};
use crate::claim::count;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::pools::cache::{Free, PoolState};
use crate::{Dialect, PoolScripts, Script, ShareClaim};

/// Maximum number of shares that one search finds; the next continues from there.
const LOOKED_AT: u32 = 500;

/// The same on MySQL, where each share costs a round trip.
const HOPS: u32 = 64;

/// Maximum number of transactions per claim.
const ROUNDS: u32 = 12;

impl OpenTable {
    /// Searches for shares if the cached ones are too old.
    pub(crate) async fn keep_known(&self, on: &impl Driver) -> Result<(), Error> {
        match &self.statements.shares {
            Some(shares) if self.pool_cache.is_stale() => self.look_for_shares(on, shares).await,
            _ => Ok(()),
        }
    }

    async fn look_for_shares(&self, on: &impl Driver, shares: &ShareClaim) -> Result<(), Error> {
        let mut keys: Vec<String> = Vec::new();
        let mut cursor = self.pool_cache.cursor();
        let (hops, at_once) = if on.dialect() == Dialect::Mysql { (HOPS, 1) } else { (1, LOOKED_AT) };
        for _ in 0..hops {
            let found = self.shares_after(on, shares, cursor.clone(), at_once).await?;
            cursor = found.last().filter(|_| found.len() >= at_once as usize).cloned();
            keys.extend(found);
            if cursor.is_none() {
                break;
            }
        }
        let pools = self.pool_cache.seen(keys, cursor);
        self.look_at_pools(on, shares, pools).await
    }

    async fn shares_after(
        &self,
        on: &impl Driver,
        shares: &ShareClaim,
        cursor: Option<String>,
        most: u32,
    ) -> Result<Vec<String>, Error> {
        let script = if cursor.is_some() { &shares.after } else { &shares.first };
        let groups = Groups { jumps: most, cursor, ..Groups::default() };
        let given = Values { groups, ..Values::limit(on.owner(), most) };
        let rows = on.run("find shares", script, &given).await?.into_rows();
        Ok(rows.iter().filter_map(|row| row.first()?.as_text().map(str::to_owned)).collect())
    }

    /// Reads the limits of these pools, and inserts an internal row for each limited one.
    async fn look_at_pools(
        &self,
        on: &impl Driver,
        shares: &ShareClaim,
        pools: BTreeSet<String>,
    ) -> Result<(), Error> {
        let Some(scripts) = shares.pools.as_ref().filter(|_| !pools.is_empty()) else { return Ok(()) };
        if !self.pools_are_there(on, scripts).await? {
            return Ok(());
        }
        let found = self.pool_states(on, &scripts.state, pools.iter().cloned().collect()).await?;
        let new = self.pool_cache.not_enrolled(&found);
        if !new.is_empty() {
            on.run("insert pool rows", &scripts.enroll, &about_pools(on, new.clone())).await?;
            self.pool_cache.enrolled(new);
        }
        self.pool_cache.set_pools(&pools, found);
        Ok(())
    }

    /// Whether the table of pools exists. A missing one is searched again from time to time: it may be created while
    /// the lane runs.
    async fn pools_are_there(&self, on: &impl Driver, scripts: &PoolScripts) -> Result<bool, Error> {
        if let Some(known) = self.pool_cache.pools_are_there() {
            return Ok(known);
        }
        let given = Values::limit(on.owner(), 1);
        let there =
            bind::count(&on.run("find the table of pools", &scripts.there, &given).await?.first()) == 1;
        self.pool_cache.looked_for_pools(there);
        Ok(there)
    }

    async fn pool_states(
        &self,
        on: &impl Driver,
        script: &Script,
        pools: Vec<String>,
    ) -> Result<BTreeMap<String, PoolState>, Error> {
        let rows = on.run("read the limits of pools", script, &about_pools(on, pools)).await?.into_rows();
        Ok(rows.iter().filter_map(|row| pool_of(row)).collect())
    }

    /// Claims rows that keep no order.
    pub(crate) async fn claim_shares(
        &self,
        on: &impl Driver,
        shares: &ShareClaim,
        limit: u32,
        free: Free,
    ) -> Result<Vec<ClaimedRow>, Error> {
        let mut claimed: Vec<ClaimedRow> = Vec::new();
        let (mut looked, mut tried) = (false, HashSet::new());
        for _ in 0..ROUNDS {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 {
                break;
            }
            let plan = self.pool_cache.plan(left, most_shares(on.dialect()), free, &mut tried);
            if plan.is_empty() {
                if looked {
                    break;
                }
                // No known share is left: search for new ones now instead of waiting until the cache expires.
                looked = true;
                self.look_for_shares(on, shares).await?;
                continue;
            }
            match self.take_shares(on, shares, &plan).await {
                Ok(got) => {
                    self.pool_cache.yielded(&plan, &got);
                    claimed.extend(got);
                }
                Err(error) if !claimed.is_empty() => {
                    self.keep_error(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(claimed)
    }

    /// Claims shares of limited pools under the pools' locks, the others without.
    async fn take_shares(
        &self,
        on: &impl Driver,
        shares: &ShareClaim,
        plan: &[Share],
    ) -> Result<Vec<ClaimedRow>, Error> {
        let (limited, open): (Vec<Share>, Vec<Share>) =
            plan.iter().cloned().partition(|share| share.limited.is_some());
        let mut claimed = Vec::new();
        for (part, script) in
            [(open, Some(&shares.take)), (limited, shares.pools.as_ref().map(|pools| &pools.take))]
        {
            let Some(script) = script.filter(|_| !part.is_empty()) else { continue };
            let limit = part.iter().map(|share| share.most).sum();
            let pools: BTreeSet<String> = part.iter().filter_map(|share| share.limited.clone()).collect();
            let asked = Shares {
                wanted: part,
                limited: pools.into_iter().collect(),
                pool_column: Some(self.statements.layout.pool),
                ..Shares::default()
            };
            let given =
                Values { shares: asked, claim_time: self.claim_time(), ..Values::limit(on.owner(), limit) };
            match on.run("claim rows", script, &given).await {
                Ok(done) => claimed.extend(self.read_claimed(done, None)),
                Err(error) if !claimed.is_empty() => self.keep_error(error),
                Err(error) => return Err(error),
            }
        }
        Ok(claimed)
    }

    /// The state of pools that a claim of groups needs.
    pub(crate) async fn pools_of_groups(&self, on: &impl Driver) -> Result<Shares, Error> {
        let pool_column = Some(self.statements.layout.pool);
        let Some(shares) = &self.statements.shares else {
            return Ok(Shares { pool_column, ..Shares::default() });
        };
        let limited = self.pool_cache.limited_of_groups();
        if let Some(scripts) = shares.pools.as_ref().filter(|_| !limited.is_empty()) {
            let found = self.pool_states(on, &scripts.state, limited.iter().cloned().collect()).await?;
            self.pool_cache.set_pools(&limited, found);
        }
        Ok(Shares { pool_column, ..self.pool_cache.of_groups() })
    }

    /// The time until the rate of a pool with waiting rows permits one; `None` if no rate holds any back.
    pub(crate) async fn rate_wait(&self, on: &impl Driver) -> Result<Option<Duration>, Error> {
        let limited = self.pool_cache.limited();
        let Some(scripts) = self.statements.shares.as_ref().and_then(|shares| shares.pools.as_ref()) else {
            return Ok(None);
        };
        if limited.is_empty() {
            return Ok(None);
        }
        let found = self.pool_states(on, &scripts.state, limited.into_iter().collect()).await?;
        Ok(found
            .values()
            .filter(|pool| pool.permits == 0 && !pool.wait.is_zero())
            .map(|pool| pool.wait)
            .min())
    }

    /// Refunds the permits of rows that were never attempted. A lost refund slows a pool down for a moment.
    pub(crate) async fn refund(&self, on: &impl Driver, untried: Vec<RowId>) {
        let Some(pools) = self.statements.shares.as_ref().and_then(|shares| shares.pools.as_ref()) else {
            return;
        };
        if untried.is_empty() || !self.pool_cache.has_rates() {
            return;
        }
        for part in untried.chunks(self.batch.max(1)) {
            let given = Values::ids(on.owner(), part.to_vec());
            if let Err(error) = on.run("refund permits", &pools.refund, &given).await {
                tracing::warn!(%error, "permits of rows that were never tried could not be refunded");
            }
        }
    }
}

fn about_pools(on: &impl Driver, pools: Vec<String>) -> Values<'_> {
    let shares = Shares { limited: pools, ..Shares::default() };
    Values { shares, ..Values::limit(on.owner(), u32::MAX) }
}

/// Maximum number of shares per transaction; on MySQL each costs statements.
fn most_shares(dialect: Dialect) -> usize {
    if dialect == Dialect::Mysql { 32 } else { 100 }
}

fn pool_of(row: &[Value]) -> Option<(String, PoolState)> {
    let name = row.first()?.as_text()?.to_owned();
    let number = |at: usize| row.get(at).map_or(0, bind::count);
    Some((
        name,
        PoolState { limited: number(1) == 1, permits: number(2), wait: Duration::from_micros(number(3)) },
    ))
}
