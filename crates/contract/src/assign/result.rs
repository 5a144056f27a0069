//! Assignments that record the result of an attempt: error, receipt and times.

use crate::{Absent, ColumnRole, Contract, Expr, Move, Set, Stage, StateId, Transition};

use super::Assignments;

impl Contract {
    /// Assigns the error, the receipt and the times of a finished attempt.
    pub(super) fn assign_result(&self, step: &Move<'_>, list: &mut Assignments) {
        let tried = step.transition == Transition::Delivered || step.transition.is_failure();
        let spent = step.transition == Transition::Reclaimed && step.stage.lease.spend;
        match step.transition {
            _ if step.stage.ready.iter().any(|ready| self.keeps_error(*ready)) => {}
            Transition::Requeued if step.to.is_some_and(|to| self.keeps_error(to)) => {}
            Transition::Delivered if self.records_refusals(step.stage) => {
                self.put_role(ColumnRole::Error, Set::Reason, list);
            }
            Transition::Delivered | Transition::Requeued => self.put_role(ColumnRole::Error, Set::Null, list),
            Transition::Swept if step.sweep.is_none() => {
                self.put_role(
                    ColumnRole::Error,
                    Set::ExprIfNull(Expr::Reason { absent: Absent::Null }),
                    list,
                );
            }
            Transition::Swept if step.sweep.is_some_and(|sweep| sweep.reason.is_some()) => {
                self.put_role(ColumnRole::Error, Set::Reason, list);
            }
            Transition::Reclaimed if step.stage.lease.poison.is_some() => {
                let back = step.to == Some(step.stage.retryable);
                self.put_role(ColumnRole::Error, if back { Set::TakeOver } else { Set::Poisoned }, list);
            }
            _ if spent || step.transition.is_failure() => self.put_role(ColumnRole::Error, Set::Reason, list),
            _ => {}
        }
        match step.transition {
            Transition::Delivered => {
                self.put_role(ColumnRole::Receipt, Set::Receipt, list);
                if !self.enters_another_stage(step) {
                    self.put_role(ColumnRole::Finished, Set::Now, list);
                }
            }
            Transition::Completed => self.put_role(ColumnRole::Finished, Set::Now, list),
            // If it is the due time too, that has been set.
            Transition::Requeued if self.column(ColumnRole::Finished) != self.column(ColumnRole::Due) => {
                self.put_role(ColumnRole::Finished, Set::Null, list);
            }
            _ => {}
        }
        if tried || spent {
            self.put_role(ColumnRole::Attempted, Set::Now, list);
        }
        if tried {
            let spent = Expr::Outcome { field: "duration_ms".to_owned(), absent: Absent::Null };
            self.put_role(ColumnRole::Duration, Set::Plus(spent), list);
        }
    }

    /// Whether failed rows of another stage, or mails that some recipients refused, end in this state.
    ///
    /// The row's error then says why it failed or who refused it, and a stage that continues from there (a callback)
    /// leaves the error alone.
    pub fn keeps_error(&self, state: StateId) -> bool {
        let continues = self.stages.iter().any(|stage| stage.ready.contains(&state));
        let failed = |stage: &Stage| {
            [stage.dead, stage.rejected, stage.skipped].contains(&state)
                || (stage.delivered == state && self.records_refusals(stage))
        };
        continues && self.stages.iter().any(failed)
    }

    /// Whether the error of a delivered row names the recipients that permanently refused the mail. If the table has a
    /// column for the result of each recipient, they are recorded there, and a delivery clears the error.
    fn records_refusals(&self, stage: &Stage) -> bool {
        stage.sends_mail() && !self.keeps_recipient_results()
    }
}
