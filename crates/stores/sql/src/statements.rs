//! Every statement of one stage of a contract on one table.

use std::collections::BTreeMap;

use postrider_contract::Transition;

use crate::claim::lost::statements::LostClaimScripts;
use crate::{Layout, Script};

/// Every script that a store runs for one stage of one contract on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statements {
    pub layout: Layout,
    /// One script per ready state on MySQL (tried in turn until the limit is reached), one script elsewhere. On SQLite
    /// a first step yields the keys in the contract's order, a second the rows in any order: see [`bind::in_order`].
    ///
    /// [`bind::in_order`]: crate::bind::in_order
    pub claim: Vec<Script>,
    /// The claim of ordered groups, if rows keep an order. `claim` is then only for the other rows.
    pub groups: Option<GroupClaim>,
    /// The claim by shares of rows that keep no order, if the contract has shares.
    pub shares: Option<ShareClaim>,
    /// Present if the lane has an external queue.
    pub handoff: Option<HandoffScripts>,
    /// Yields `id, field…` for the named keys.
    pub load: Script,
    /// Yields `id, joined…` for the named keys; NULLs if the joined row does not exist.
    pub join: Option<Script>,
    pub settle: BTreeMap<Transition, Settle>,
    /// Records an attempt whose row was cancelled meanwhile: the row stays cancelled.
    pub late: BTreeMap<Transition, Settle>,
    /// Yields `Leases`. Absent if a lease is kept without a write.
    pub extend: Option<Script>,
    /// Yields those of [`Param::Ids`](crate::Param::Ids) that this worker holds. `Leases`. Only reads. Absent if it
    /// cannot be known whether an extension without an answer has changed their fence, or if none does.
    pub renewed: Option<Script>,
    /// Gives claimed rows without a claim time one, so that their lease can expire. `Keys`.
    pub stamp: Option<Script>,
    /// The name of this stage of this table in internal tables.
    pub place: String,
    /// Yields those of the given leases that still hold. `Keys`.
    pub standing_leases: Script,
    /// Absent if a lease ends without a move (`lease.by = "due"`).
    pub reclaim: Option<ReclaimScripts>,
    /// Absent if the table does not record which worker claimed a row.
    pub lost_claims: Option<LostClaimScripts>,
    pub spent: Option<Script>,
    /// SQLite only: one for each time column that a claim requires.
    pub unreadable: Vec<UnreadableScripts>,
    /// As `contract.sweeps`. `Keys`.
    pub sweeps: Vec<Script>,
    /// One per state with a retention. `Keys`, of the rows deleted.
    pub purge: Vec<Script>,
    /// Yields one nullable integer: microseconds until the next ready row is due (negative: it is due).
    pub next_due: Script,
    pub inspect: InspectScripts,
}

/// The scripts that end ready rows whose time in one column is unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableScripts {
    pub column: String,
    /// `Keys`. Only reads.
    pub find: Script,
    /// Binds `Ids`, yields `Keys`.
    pub end: Script,
}

/// The scripts that reclaim rows whose lease expired. All moves bind `Ids` and yield `Keys`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReclaimScripts {
    /// Yields for each such row its lease (key, fence), 1 if a charge would end it, and its maximum number of attempts.
    pub find: Script,
    /// Returns rows that were only held, without charging an attempt.
    pub free: Script,
    /// The same for begun rows with one attempt left; counts the crash.
    pub spared: Script,
    /// Returns rows and charges an attempt; counts the crash.
    pub charged: Script,
    /// Moves rows that crash their workers too often to the dead state.
    pub dead: Script,
}

/// The claim of ordered groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupClaim {
    /// From the first group on. One script on PostgreSQL, whose first step finds groups and locks them and whose second
    /// claims their rows; elsewhere the first script finds groups, and the second claims rows of the groups that the
    /// caller passes.
    pub first: Vec<Script>,
    /// The same, from [`Param::Cursor`] on.
    pub after: Vec<Script>,
    /// The same if some of their pools are limited: the permits are counted first, and then spent.
    pub limited_first: Vec<Script>,
    pub limited_after: Vec<Script>,
    /// Number of rows that a claim takes of one group if other groups are free too.
    pub run: u32,
}

/// The claim by shares.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShareClaim {
    /// Yields the keys of up to [`Param::Jumps`] shares with waiting rows, in order.
    pub first: Script,
    /// The same, from [`Param::Cursor`] on.
    pub after: Script,
    /// Claims rows of [`Param::Shares`].
    pub take: Script,
    /// Absent if the contract has no pools.
    pub pools: Option<PoolScripts>,
}

/// The scripts for the limits of pools.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolScripts {
    /// Yields 1 if the table of pools exists, else 0: then no pool is limited.
    pub there: Script,
    /// Yields those of [`Param::Pools`] that exist: name, 1 if it is limited, how many rows may go, microseconds until
    /// its rate permits one.
    pub state: Script,
    /// Inserts an internal row for each pool: its lock and its rate bucket.
    pub enroll: Script,
    /// Claims rows of [`Param::Shares`], under the locks of [`Param::Pools`].
    pub take: Script,
    /// Returns the permits that [`Param::Ids`] cost.
    pub refund: Script,
}

/// The scripts for an external queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffScripts {
    /// Claims those of [`Param::Ids`] that may go.
    pub claim: Script,
    /// Yields those of [`Param::Ids`] that exist: the key, and 2 if it can be claimed this way, 1 if it can be claimed
    /// only from the table, else 0.
    pub standing: Script,
    /// Index in [`Statements::sweeps`] of the sweep that yields the rows to publish.
    pub waiting: usize,
    /// One or two per ready state: marks rows that are due and not on the queue. `Keys`.
    pub due: Vec<Script>,
    /// One per ready state: undoes that for [`Param::Ids`]. `Keys`.
    pub recall: Vec<Script>,
    /// Whether the table can have rows that no queue can carry.
    pub may_have_unqueueable_rows: bool,
}

/// The statements of one settling transition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settle {
    /// If all rows share the fence and every other value (`Param::One`): `id = ANY($1)`. Absent if values cannot be
    /// shared.
    pub uniform: Option<Script>,
    pub each: Script,
    /// For rows with recipient results to keep, if the internal table keeps them.
    pub remembering: Option<Script>,
}

/// The scripts of operators.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectScripts {
    /// State name → yields one integer, counted up to the seam's limit + 1.
    pub census: Vec<(String, Script)>,
    /// From-state name → the move. Binds `Ids`.
    pub requeue_ids: Vec<(String, Script)>,
    /// Binds `Limit`, and `Since` (seconds; NULL for any).
    pub requeue_state: Vec<(String, Script)>,
    pub cancel_ids: Vec<(String, Script)>,
    pub cancel_state: Vec<(String, Script)>,
    /// Returns claimed rows without charging an attempt.
    pub release_ids: Vec<(String, Script)>,
    pub release_state: Vec<(String, Script)>,
    /// Marks a row as done because an operator vouches for it.
    pub complete_ids: Vec<(String, Script)>,
    /// Yields two nullable floats: seconds since the oldest due row became due, and since the oldest claim.
    pub lag: Script,
}

impl Statements {
    /// Returns every script that is not about settlements or leases, with its purpose.
    pub fn scripts(&self) -> Vec<(&'static str, &Script)> {
        let inspect = &self.inspect;
        let mut scripts = vec![("load", &self.load), ("next due", &self.next_due), ("lag", &inspect.lag)];
        scripts.extend(self.claim.iter().map(|script| ("claim", script)));
        if let Some(shares) = &self.shares {
            scripts.extend([("shares", &shares.first), ("claim of shares", &shares.take)]);
            // The other scripts of pools can run only if this one yields 1.
            scripts.extend(shares.pools.iter().map(|pools| ("is there a table of pools", &pools.there)));
        }
        if let Some(handoff) = &self.handoff {
            scripts.extend([("claim by key", &handoff.claim), ("standing", &handoff.standing)]);
            scripts.extend(handoff.due.iter().map(|script| ("offer", script)));
            scripts.extend(handoff.recall.iter().map(|script| ("recall", script)));
        }
        scripts.extend(self.join.iter().map(|script| ("join", script)));
        scripts.extend(self.stamp.iter().map(|script| ("stamp", script)));
        // The other moves of a reclaim write to internal tables, which may not exist.
        if let Some(reclaim) = &self.reclaim {
            scripts.extend([("look for expired leases", &reclaim.find), ("reclaim", &reclaim.free)]);
        }
        if let Some(lost) = &self.lost_claims {
            scripts.extend([("look for rows of a lost claim", &lost.find), ("release of them", &lost.free)]);
        }
        scripts.extend(self.spent.iter().map(|script| ("spent", script)));
        for unreadable in &self.unreadable {
            scripts.extend([
                ("look for unreadable times", &unreadable.find),
                ("end unreadable", &unreadable.end),
            ]);
        }
        scripts.extend(self.sweeps.iter().map(|script| ("sweep", script)));
        scripts.extend(self.purge.iter().map(|script| ("purge", script)));
        scripts.extend(inspect.census.iter().map(|(_, script)| ("census", script)));
        for (name, list) in [
            ("requeue by key", &inspect.requeue_ids),
            ("requeue by state", &inspect.requeue_state),
            ("cancel by key", &inspect.cancel_ids),
            ("cancel by state", &inspect.cancel_state),
            ("release by key", &inspect.release_ids),
            ("release by state", &inspect.release_state),
            ("complete by key", &inspect.complete_ids),
        ] {
            scripts.extend(list.iter().map(|(_, script)| (name, script)));
        }
        scripts
    }
}
