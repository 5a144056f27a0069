//! Says what is not kept of rows that are deleted when they end.

use postrider_seams::inspect::{Finding, Level};

use crate::open_table::OpenTable;

impl OpenTable {
    /// Returns what a stage that deletes rows does not keep; `None` if it keeps all of them.
    pub(super) fn deletion_finding(&self) -> Option<Finding> {
        let deletes = |state| self.contract.state(state).deletes;
        let stage = &self.stage;
        let ends = [
            ("delivered", deletes(stage.delivered)),
            ("dead", deletes(stage.dead)),
            ("rejected", deletes(stage.rejected)),
            ("skipped", deletes(stage.skipped)),
        ];
        let deleted: Vec<&str> = ends.iter().filter(|(_, deletes)| *deletes).map(|(name, _)| *name).collect();
        let failed = deletes(stage.dead) || deletes(stage.rejected);
        let level = if failed { Level::Warning } else { Level::Ok };
        let lost = if failed { ": a failed message leaves no trace" } else { "" };
        let text = format!(
            "{} rows are deleted at once{lost}; neither their time, receipt nor error is kept, except what an [[effect]] \
             inserts, and they are neither shown nor requeued",
            deleted.join(" and ")
        );
        (!deleted.is_empty()).then_some(Finding { level, text, fix: None })
    }
}
