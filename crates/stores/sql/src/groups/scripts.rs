//! The statements of a claim of ordered groups, with their types.

use postrider_seams::row::ClaimedRow;

use crate::bind::in_order;
use crate::claim::params::Claiming;
use crate::claim::row::ClaimReader;
use crate::groups::params::{FoundGroup, GroupClaimParams, GroupSearchParams};
use crate::typed::typed_script;

/// The claim of ordered groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupClaim {
    /// From the first group on.
    pub first: GroupScripts,
    /// From the cursor on.
    pub after: GroupScripts,
    /// The same if some of their pools are limited: the permits are counted first, and then spent.
    pub limited: Option<Box<[GroupScripts; 2]>>,
    /// Number of rows that a claim takes of one group if other groups are free too.
    pub run: u32,
}

impl GroupClaim {
    /// Returns the scripts of a claim from the cursor or the first group on, of limited pools or not.
    pub fn scripts(&self, from_cursor: bool, limited: bool) -> &GroupScripts {
        match (limited.then_some(self.limited.as_deref()).flatten(), from_cursor) {
            (None, false) => &self.first,
            (None, true) => &self.after,
            (Some([first, _]), false) => first,
            (Some([_, after]), true) => after,
        }
    }
}

/// The scripts of one claim of ordered groups.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupScripts {
    /// Finds groups before the transaction. Absent on PostgreSQL, where the first step of `take` finds and locks them.
    pub find: Option<FindGroups>,
    pub take: ClaimGroups,
}

typed_script! {
    /// Yields groups, and whether their first row may go.
    pub FindGroups(GroupSearchParams) -> FoundGroup, Read, |_, row| Some(FoundGroup::read(row))
}

typed_script! {
    /// Claims rows of groups.
    pub ClaimGroups { reader: ClaimReader } (Claiming<GroupClaimParams>) -> ClaimedRow, Write,
    |this, row| this.reader.read(row), sorted in_order
}
