//! Renders the release of rows that this worker claimed but does not hold, because the result of the claim was lost.

use postrider_contract::{ColumnRole, Transition};
use postrider_seams::row::RowId;

use crate::render::condition::Lookup;
use crate::render::moves::{MoveNamed, Pick};
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::typed::typed_script;
use crate::{Script, Yields};

/// The scripts that find and release such rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LostClaimScripts {
    pub find: FindClaimed,
    /// Releases rows that this worker has claimed.
    pub free: MoveNamed,
}

typed_script! {
    /// Yields the keys of all rows that this worker has claimed.
    pub FindClaimed(()) -> RowId, Read, |_, mut row| row.key()
}

impl Table<'_> {
    /// Returns the scripts; `None` if the table does not record which worker claimed a row.
    pub fn lost_claims(&self) -> Option<LostClaimScripts> {
        let owner = self.role(ColumnRole::Owner)?;
        let step = self.contract.lease_move(self.stage, Transition::Released);
        let builder = StepBuilder::plain(self);
        let mut parts = vec![self.in_states(step.from, Lookup::Index)];
        parts.push(format!("{owner} = {}", builder.worker()));
        parts.extend(self.filter());
        let text =
            format!("SELECT {}\nFROM {} AS t\nWHERE {}", self.key(), self.name(), parts.join("\n  AND "));
        let find = FindClaimed { script: Script { steps: vec![builder.finish(&text, Yields::Keys)] } };
        let script = self.picked(step, &[Transition::Released], None, &Pick::Claimed { owner });
        let free = MoveNamed { script };
        Some(LostClaimScripts { find, free })
    }
}
