//! Every statement of one stage of a contract on one table.

use std::collections::BTreeMap;

use postrider_contract::Transition;

pub use crate::begin::statements::{FindExpired, ReclaimScripts, ValidLeases};
pub use crate::claim::lists::ListScripts;
pub use crate::claim::lost::statements::{FindClaimed, LostClaimScripts};
pub use crate::claim::next_due::NextDue;
pub use crate::claim::statements::{ClaimRows, LoadFields, LoadJoined};
pub use crate::groups::scripts::{ClaimGroups, FindGroups, GroupClaim, GroupScripts};
pub use crate::handoff::statements::{ClaimNamed, HandoffScripts, UnclaimedReasons};
pub use crate::inspect::census::CountRows;
pub use crate::inspect::statements::{InspectScripts, MeasureLag, MoveChanged};
pub use crate::pools::statements::{ClaimShares, FindShares, PoolScripts, ShareScripts};
pub use crate::render::moves::{MoveNamed, MoveSome};
pub use crate::settle::statements::{ExtendLeases, FindHeldLeases, Settle, SettleRows};
pub use crate::sweep::purge::PurgeRows;
pub use crate::sweep::unreadable::statements::{FindUnreadable, UnreadableScripts};

use crate::Layout;

/// Every script that a store runs for one stage of one contract on one table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statements {
    pub layout: Layout,
    /// One script per ready state on MySQL (tried in turn until the limit is reached), one script elsewhere.
    pub claim: Vec<ClaimRows>,
    /// The claim of ordered groups, if rows keep an order. `claim` is then only for the other rows.
    pub groups: Option<GroupClaim>,
    /// The claim by shares of rows that keep no order, if the contract has shares.
    pub shares: Option<ShareScripts>,
    /// Present if the lane has an external queue.
    pub handoff: Option<HandoffScripts>,
    pub load: LoadFields,
    pub join: Option<LoadJoined>,
    /// One per join of several rows; `None` if its table is absent.
    pub lists: Vec<Option<ListScripts>>,
    pub settle: BTreeMap<Transition, Settle>,
    /// Records an attempt whose row was cancelled meanwhile: the row stays cancelled.
    pub late: BTreeMap<Transition, Settle>,
    /// Absent if a lease is kept without a write.
    pub extend: Option<ExtendLeases>,
    /// Absent if it cannot be known whether an extension without an answer has changed a fence, or if none does.
    pub renewed: Option<FindHeldLeases>,
    /// Gives claimed rows without a claim time one, so that their lease can expire.
    pub stamp: Option<MoveSome>,
    /// The name of this stage of this table in internal tables.
    pub stage_key: String,
    pub valid_leases: ValidLeases,
    /// Absent if a lease ends without a move (`lease.by = "due"`).
    pub reclaim: Option<ReclaimScripts>,
    /// Absent if the table does not record which worker claimed a row.
    pub lost_claims: Option<LostClaimScripts>,
    pub spent: Option<MoveSome>,
    /// SQLite only: one for each time column that a claim requires.
    pub unreadable: Vec<UnreadableScripts>,
    /// As `contract.sweeps`.
    pub sweeps: Vec<MoveSome>,
    /// One per state with a retention.
    pub purge: Vec<PurgeRows>,
    pub next_due: NextDue,
    pub inspect: InspectScripts,
}
