//! Renders the release of rows that this worker claimed but does not hold, because the result of the claim was lost.

use postrider_contract::{Role, Transition};

use crate::condition::Lookup;
use crate::draft::Draft;
use crate::moves::Pick;
use crate::table::Table;
use crate::{Script, Yields};

/// The scripts that find and release such rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnheldScripts {
    /// All rows that this worker has claimed. `Keys`. Only reads.
    pub look: Script,
    /// Releases those of [`Bind::Ids`](crate::Bind::Ids) that this worker has claimed. `Keys`.
    pub free: Script,
}

impl Table<'_> {
    /// Returns the scripts; `None` if the table does not record which worker claimed a row.
    pub fn unheld(&self) -> Option<UnheldScripts> {
        let owner = self.role(Role::Owner)?;
        let step = self.contract.lease_move(self.stage, Transition::Released);
        let draft = Draft::own(self);
        let mut parts = vec![self.in_states(step.from, Lookup::Index)];
        parts.push(format!("{owner} = {}", draft.worker()));
        parts.extend(self.filter());
        let text =
            format!("SELECT {}\nFROM {} AS t\nWHERE {}", self.key(), self.name(), parts.join("\n  AND "));
        let look = Script { steps: vec![draft.finish(&text, Yields::Keys)] };
        let free = self.picked(step, &[Transition::Released], None, &Pick::Claimed { owner });
        Some(UnheldScripts { look, free })
    }
}
