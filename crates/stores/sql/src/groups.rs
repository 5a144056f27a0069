//! Claims ordered groups: advances the group cursor, claims runs, and shares the lane's capacity with the other rows.

pub(crate) mod cursor;
pub(crate) mod order;
mod statements;

use std::collections::HashSet;

use postrider_seams::row::ClaimedRow;
use postrider_seams::store::Error;
use tokio::time::Instant;

use self::cursor::{GroupSearch, Left};
use crate::GroupClaim;
use crate::bind::{Groups, Shares, Values};
use crate::claim::count;
use crate::driver::{Driver, Output};
use crate::open_table::OpenTable;
use crate::pools::cache::Free;

/// Approximate number of groups that one claim reads from the group cursor on; the next claim continues there.
const LOOKED_AT_MOST: u32 = 2000;

/// Maximum number of transactions per claim.
const ROUNDS: u32 = 8;

impl OpenTable {
    /// Claims half of the limit of each kind; what one kind leaves is given to the other. Free rows come first: they
    /// can be claimed twice, while a group that gave a short run cannot give another.
    pub(crate) async fn claim_both(
        &self,
        on: &impl Driver,
        groups: &GroupClaim,
        limit: u32,
        free: Free,
    ) -> Result<Vec<ClaimedRow>, Error> {
        let half = limit.saturating_add(u32::from(self.group_cursor.flip())) / 2;
        let mut claimed = self.claim_rows(on, half, free).await?;
        let more_free = count(&claimed) >= half;
        for ordered in [true, false] {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 || !(ordered || more_free) {
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
        let (mut looked, mut whole_turn) = (0, false);
        for round in 0..ROUNDS {
            let left = limit.saturating_sub(count(&claimed));
            if left == 0 || whole_turn || looked >= LOOKED_AT_MOST {
                break;
            }
            let asked = self.group_cursor.plan(on.dialect(), left, groups.run, round);
            let (look, got) = match self.claim_round(on, groups, &asked, &pools, left).await {
                Ok(found) => found,
                Err(error) if !claimed.is_empty() => {
                    self.keep_error(error);
                    break;
                }
                Err(error) => return Err(error),
            };
            self.group_cursor.moved(&look.left);
            let keys: HashSet<_> =
                got.iter().filter_map(|row| row.group.as_ref().map(|group| &group.key)).collect();
            self.group_cursor.yielded(count(&got), u32::try_from(keys.len()).unwrap_or(u32::MAX));
            looked += look.seen;
            // From the middle of the ring to its end is not yet a full round.
            whole_turn = look.left == Left::Turned && (asked.cursor.is_none() || round > 0);
            claimed.extend(got);
        }
        self.group_cursor.ended(count(&claimed) < limit && !whole_turn);
        Ok(claimed)
    }

    async fn claim_round(
        &self,
        on: &impl Driver,
        groups: &GroupClaim,
        asked: &Groups,
        pools: &Shares,
        limit: u32,
    ) -> Result<(GroupSearch, Vec<ClaimedRow>), Error> {
        let scripts = match (asked.cursor.is_some(), pools.limited.is_empty()) {
            (true, true) => &groups.after,
            (false, true) => &groups.first,
            (true, false) => &groups.limited_after,
            (false, false) => &groups.limited_first,
        };
        let given = Values {
            groups: asked.clone(),
            shares: pools.clone(),
            claim_time: self.claim_time(),
            ..Values::limit(on.owner(), limit)
        };
        let mut done = Output::default();
        let started = Instant::now();
        if let Some(look) = scripts.first() {
            done = on.run("find groups", look, &given).await?;
        }
        let finding = done.finding;
        let look = GroupSearch::read(on.dialect(), asked, &done.groups);
        if let Some(take) = scripts.get(1) {
            if look.groups.is_empty() {
                return Ok((look, Vec::new()));
            }
            let groups = Groups { found: look.groups.clone(), ..asked.clone() };
            let given = Values { groups, ids: look.heads.clone(), ..given };
            done = on.run("claim groups", take, &given).await?;
        }
        let from = match self.stage.ready.as_slice() {
            [only] => Some(*only),
            _ => None,
        };
        let rows = self.read_claimed(done, from);
        // Short claims do not show what a backlog costs.
        if count(&rows) >= limit {
            self.group_cursor.spent(finding, started.elapsed().saturating_sub(finding));
        }
        Ok((look, rows))
    }
}
