//! Rows that this worker has claimed and does not hold: the answer to their claim never arrived.

use postrider_contract::{Role, Transition};

use crate::condition::Lookup;
use crate::draft::Draft;
use crate::moves::Pick;
use crate::table::Table;
use crate::{Script, Yields};

/// What releases them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnheldScripts {
    /// All rows that this worker has claimed. `Keys`. Only reads.
    pub look: Script,
    /// Releases [`Bind::Ids`](crate::Bind::Ids), as far as this worker has claimed them. `Keys`.
    pub free: Script,
}

impl Table<'_> {
    /// `None` where the table does not say who claimed a row.
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
