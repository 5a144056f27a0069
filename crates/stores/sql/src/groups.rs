//! Claims ordered groups: advances the group cursor, claims runs, and shares the lane's capacity with the other rows.

pub(crate) mod cursor;
pub(crate) mod order;
pub(crate) mod params;
pub(crate) mod scripts;
mod statements;

use std::collections::HashSet;

use postrider_seams::row::ClaimedRow;
use postrider_seams::store::Error;
use tokio::time::Instant;

use self::cursor::{CursorMove, GroupSearch, SearchPlan};
use self::params::{GroupClaimParams, GroupSearchParams};
use self::scripts::GroupClaim;
use crate::claim::count;
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::pools::cache::UnorderedRows;
use crate::pools::permits::PoolPermits;

/// Approximate number of groups that one claim reads from the group cursor on; the next claim continues there.
const MAX_GROUPS_READ: u32 = 2000;

/// Maximum number of transactions per claim.
const ROUNDS: u32 = 8;

impl OpenTable {
    /// Claims half of the limit of each kind; what one kind leaves is given to the other. Free rows come first: they
    /// can be claimed twice, while a group that gave a short run cannot give another.
    ///
    /// A search for groups costs a transaction and several milliseconds, so it is made only if the shares show ordered
    /// rows.
    pub(crate) async fn claim_both(
        &self,
        on: &impl Driver,
        groups: &GroupClaim,
        limit: u32,
        free: UnorderedRows,
    ) -> Result<Vec<ClaimedRow>, Error> {
        let may_have_groups = || self.statements.shares.is_none() || self.pool_cache.has_ordered();
        let half = if may_have_groups() {
            limit.saturating_add(u32::from(self.group_cursor.odd_row_to_groups())) / 2
        } else {
            limit
        };
        let mut claimed = self.claim_rows(on, half, free).await?;
        let more_free = count(&claimed) >= half;
        for ordered in [true, false] {
            let left = limit.saturating_sub(count(&claimed));
            let wanted = if ordered { may_have_groups() } else { more_free };
            if left == 0 || !wanted {
                continue;
            }
            let more = if ordered {
                self.claim_groups(on, groups, left).await
            } else {
                self.claim_rows(on, left, free).await
            };
            match more {
                Ok(more) => claimed.extend(more),
                Err(error) if !claimed.is_empty() => {
                    self.keep_error(error);
                    break;
                }
                Err(error) => return Err(error),
            }
        }
        Ok(claimed)
    }

    /// Continues until the limit is reached, the cursor has passed all groups, or enough groups were read.
    async fn claim_groups(
        &self,
        on: &impl Driver,
        groups: &GroupClaim,
        limit: u32,
    ) -> Result<Vec<ClaimedRow>, Error> {
        let pools = self.pools_of_groups(on).await?;
        let mut claimed: Vec<ClaimedRow> = Vec::new();
        let (mut read, mut full_round) = (0, false);
        for round in 0..ROUNDS {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 || full_round || read >= MAX_GROUPS_READ {
                break;
            }
            let plan = self.group_cursor.plan(on.dialect(), left, groups.run, round);
            let (search, got) = match self.claim_round(on, groups, &plan, &pools, left).await {
                Ok(found) => found,
                Err(error) if !claimed.is_empty() => {
                    self.keep_error(error);
                    break;
                }
                Err(error) => return Err(error),
            };
            self.group_cursor.moved(&search.cursor);
            let keys: HashSet<_> =
                got.iter().filter_map(|row| row.group.as_ref().map(|group| &group.key)).collect();
            self.group_cursor.yielded(count(&got), u32::try_from(keys.len()).unwrap_or(u32::MAX));
            read += search.seen;
            // From a group in the middle to the last one is not yet a full round.
            full_round = search.cursor == CursorMove::Wrapped && (plan.cursor.is_none() || round > 0);
            claimed.extend(got);
        }
        self.group_cursor.ended(count(&claimed) < limit && !full_round);
        Ok(claimed)
    }

    async fn claim_round(
        &self,
        on: &impl Driver,
        groups: &GroupClaim,
        plan: &SearchPlan,
        permits: &PoolPermits,
        limit: u32,
    ) -> Result<(GroupSearch, Vec<ClaimedRow>), Error> {
        let scripts = groups.scripts(plan.cursor.is_some(), permits.has_limits());
        let params = GroupSearchParams { plan: plan.clone(), permits: permits.clone() };
        let started = Instant::now();
        let mut before = None;
        let (mut keys, mut heads) = (Vec::new(), Vec::new());
        if let Some(find) = &scripts.find {
            let rows = on.fetch("find groups", find, params.clone()).await?;
            let read = GroupSearch::read(on.dialect(), plan, &rows);
            if read.groups.is_empty() {
                return Ok((read, Vec::new()));
            }
            (keys, heads) = (read.groups.clone(), read.heads.clone());
            before = Some((read, started.elapsed()));
        }
        let claim = self.claiming(GroupClaimParams::new(params, limit, keys, heads));
        let (rows, done) = on.run("claim groups", &scripts.take, claim).await?;
        let rows = self.now_held(rows);
        let (search, finding) = before.unwrap_or_else(|| {
            (GroupSearch::read(on.dialect(), plan, &done.params.found), done.params.finding)
        });
        // Short claims do not show what a backlog costs.
        if count(&rows) >= limit {
            self.group_cursor.spent(finding, started.elapsed().saturating_sub(finding));
        }
        Ok((search, rows))
    }
}
