//! Claims by shares (fair queueing): some rows of each share, round-robin, and of limited pools only with permits.
//!
//! The shares with waiting rows are cached for a moment, with the limits of their pools; a share that gave fewer rows
//! than planned is forgotten until the next search. All of this is lost with the process, which costs one search.

pub(crate) mod cache;
mod limits;
pub(crate) mod permits;
pub(crate) mod statements;
pub(crate) mod walk;

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use postrider_seams::row::{ClaimedRow, RowId};
use postrider_seams::store::Error;

use crate::Dialect;
use crate::bind::Ids;
use crate::claim::count;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::pools::cache::{PoolState, UnorderedRows};
use crate::pools::permits::{FairKey, OpenPools, PoolPermits};
use crate::pools::statements::{PoolScripts, Pools, ReadPoolLimits, ShareScripts, ShareSearch};

/// Maximum number of shares that one search finds; the next continues from there.
const MAX_SHARES_READ: u32 = 500;

/// The same on MySQL, where each share costs a round trip.
const MAX_SHARES_READ_MYSQL: u32 = 64;

/// Maximum number of transactions per claim.
const ROUNDS: u32 = 12;

impl OpenTable {
    /// Searches for shares if the cached ones are too old.
    pub(crate) async fn refresh_cache(&self, on: &impl Driver) -> Result<(), Error> {
        match &self.statements.shares {
            Some(shares) if self.pool_cache.is_stale() => self.find_shares(on, shares).await,
            _ => Ok(()),
        }
    }

    async fn find_shares(&self, on: &impl Driver, shares: &ShareScripts) -> Result<(), Error> {
        let mut keys: Vec<String> = Vec::new();
        let mut cursor = self.pool_cache.cursor();
        let (searches, limit) =
            if on.dialect() == Dialect::Mysql { (MAX_SHARES_READ_MYSQL, 1) } else { (1, MAX_SHARES_READ) };
        for _ in 0..searches {
            let script = if cursor.is_some() { &shares.after } else { &shares.first };
            let search = ShareSearch { cursor: cursor.as_deref(), limit };
            let found = on.fetch("find shares", script, search).await?;
            cursor = found.last().filter(|_| found.len() >= limit as usize).cloned();
            keys.extend(found);
            if cursor.is_none() {
                break;
            }
        }
        let pools = self.pool_cache.seen(keys, cursor);
        self.read_pool_limits(on, shares, pools).await
    }

    /// Reads the limits of these pools, and inserts an internal row for each limited one.
    async fn read_pool_limits(
        &self,
        on: &impl Driver,
        shares: &ShareScripts,
        pools: BTreeSet<String>,
    ) -> Result<(), Error> {
        let Some(scripts) = shares.pools.as_ref().filter(|_| !pools.is_empty()) else { return Ok(()) };
        if !self.pool_table_exists(on, scripts).await? {
            return Ok(());
        }
        let found = pool_states(on, &scripts.limits, &pools).await?;
        let new = self.pool_cache.not_enrolled(&found);
        if !new.is_empty() {
            on.fetch("insert pool rows", &scripts.insert, Pools(&new)).await?;
            self.pool_cache.enrolled(new);
        }
        self.pool_cache.set_pools(&pools, found);
        Ok(())
    }

    /// Whether the table of pools exists. A missing one is searched again from time to time: it may be created while
    /// the lane runs.
    async fn pool_table_exists(&self, on: &impl Driver, scripts: &PoolScripts) -> Result<bool, Error> {
        if let Some(known) = self.pool_cache.pool_table_exists() {
            return Ok(known);
        }
        let found = on.fetch("find the table of pools", &scripts.exists, ()).await?;
        let exists = found.contains(&true);
        self.pool_cache.record_pool_table(exists);
        Ok(exists)
    }

    /// Claims rows that keep no order.
    pub(crate) async fn claim_shares(
        &self,
        on: &impl Driver,
        shares: &ShareScripts,
        limit: u32,
        free: UnorderedRows,
    ) -> Result<Vec<ClaimedRow>, Error> {
        let mut claimed: Vec<ClaimedRow> = Vec::new();
        let (mut searched, mut tried) = (false, HashSet::new());
        for _ in 0..ROUNDS {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 {
                break;
            }
            let plan = self.pool_cache.plan(left, most_shares(on.dialect()), free, &mut tried);
            if plan.is_empty() {
                if searched {
                    break;
                }
                // No known share is left: search for new ones now instead of waiting until the cache expires.
                searched = true;
                self.find_shares(on, shares).await?;
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
        shares: &ShareScripts,
        plan: &[FairKey],
    ) -> Result<Vec<ClaimedRow>, Error> {
        let (limited, open): (Vec<FairKey>, Vec<FairKey>) =
            plan.iter().cloned().partition(|share| share.limited.is_some());
        let mut claimed = Vec::new();
        for (part, script) in
            [(open, Some(&shares.take)), (limited, shares.pools.as_ref().map(|pools| &pools.take))]
        {
            let Some(script) = script.filter(|_| !part.is_empty()) else { continue };
            let pools: BTreeSet<String> = part.iter().filter_map(|share| share.limited.clone()).collect();
            let pools = OpenPools { limited: pools.into_iter().collect(), open: Vec::new() };
            match on.fetch("claim rows", script, self.claiming(self.permits(part, pools))).await {
                Ok(rows) => claimed.extend(self.now_held(rows)),
                Err(error) if !claimed.is_empty() => self.keep_error(error),
                Err(error) => return Err(error),
            }
        }
        Ok(claimed)
    }

    fn permits(&self, shares: Vec<FairKey>, pools: OpenPools) -> PoolPermits {
        PoolPermits::new(shares, pools, self.statements.layout.pool)
    }

    /// The state of pools that a claim of groups needs.
    pub(crate) async fn pools_of_groups(&self, on: &impl Driver) -> Result<PoolPermits, Error> {
        let Some(shares) = &self.statements.shares else {
            return Ok(self.permits(Vec::new(), OpenPools::default()));
        };
        let limited = self.pool_cache.limited_of_groups();
        if let Some(scripts) = shares.pools.as_ref().filter(|_| !limited.is_empty()) {
            let found = pool_states(on, &scripts.limits, &limited).await?;
            self.pool_cache.set_pools(&limited, found);
        }
        Ok(self.permits(Vec::new(), self.pool_cache.of_groups()))
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
        let found = pool_states(on, &scripts.limits, &limited).await?;
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
            if let Err(error) = on.fetch("refund permits", &pools.refund, Ids(part)).await {
                tracing::warn!(%error, "permits of rows that were never tried could not be refunded");
            }
        }
    }
}

async fn pool_states(
    on: &impl Driver,
    script: &ReadPoolLimits,
    pools: &BTreeSet<String>,
) -> Result<BTreeMap<String, PoolState>, Error> {
    let names: Vec<String> = pools.iter().cloned().collect();
    Ok(on.fetch("read the limits of pools", script, Pools(&names)).await?.into_iter().collect())
}

/// Maximum number of shares per transaction; on MySQL each costs statements.
fn most_shares(dialect: Dialect) -> usize {
    if dialect == Dialect::Mysql { 32 } else { 100 }
}
