//! Assignments of lease, due time, attempts and version.

use crate::{
    AttemptCounting, ColumnRole, Contract, DEFERRED_OWNER, Defer, LeaseBy, Literal, Move, Set, Transition,
};

use super::Assignments;

impl Contract {
    pub(super) fn assign_lease(&self, step: &Move<'_>, list: &mut Assignments) {
        let defers_by_lock = step.transition == Transition::Deferred && self.due.defer == Defer::Lease;
        if step.transition == Transition::Claimed {
            self.put_role(ColumnRole::ClaimedAt, Set::NowLater, list);
            self.put_role(ColumnRole::LeaseUntil, Set::LeaseEnd, list);
            self.put_role(ColumnRole::Owner, Set::Worker, list);
        } else if defers_by_lock {
            let until = if self.column(ColumnRole::LeaseUntil).is_some() {
                ColumnRole::LeaseUntil
            } else {
                ColumnRole::ClaimedAt
            };
            let set = if until == ColumnRole::LeaseUntil { Set::AfterDelay } else { Set::LockForDelay };
            self.put_role(until, set, list);
            let owner = Set::Literal(Literal::Text(DEFERRED_OWNER.to_owned()));
            self.put_role(ColumnRole::Owner, owner, list);
        } else {
            self.put_role(ColumnRole::LeaseUntil, Set::Null, list);
            self.put_role(ColumnRole::Owner, Set::Null, list);
        }
    }

    pub(super) fn assign_due(&self, step: &Move<'_>, list: &mut Assignments) {
        let Some(due) = self.column(ColumnRole::Due) else { return };
        let by_due = step.stage.lease.by == LeaseBy::Due;
        let set = match step.transition {
            Transition::Claimed if by_due => Set::LeaseEnd,
            Transition::Retry => Set::AfterDelay,
            Transition::Deferred if self.due.defer == Defer::Due => Set::AfterDelay,
            Transition::Released | Transition::Deferred if by_due => Set::Now,
            Transition::Reclaimed if step.to == Some(step.stage.retryable) => Set::Now,
            Transition::Requeued if list.get(due) != Some(&Set::Null) => Set::Now,
            _ if self.enters_another_stage(step) && list.get(due) != Some(&Set::Never) => Set::Now,
            _ => return,
        };
        list.put(due, set);
    }

    pub(super) fn assign_attempts(&self, step: &Move<'_>, list: &mut Assignments) {
        let Some(attempts) = self.column(ColumnRole::Attempts) else { return };
        let rule = &step.stage.attempts;
        let claims = rule.count == AttemptCounting::Claims;
        let set = match step.transition {
            Transition::Requeued => Set::Literal(Literal::Int(0)),
            _ if self.enters_another_stage(step) => Set::Literal(Literal::Int(0)),
            Transition::Claimed if claims => Set::Increment,
            Transition::Released | Transition::Deferred if claims => Set::Decrement,
            Transition::Reclaimed if !step.stage.lease.spend => {
                if !claims {
                    return;
                }
                Set::Decrement
            }
            Transition::Reclaimed => match rule.count {
                AttemptCounting::Claims => return,
                AttemptCounting::Retries if step.to != Some(step.stage.retryable) => return,
                AttemptCounting::Retries | AttemptCounting::Failures | AttemptCounting::Attempts => {
                    Set::Increment
                }
            },
            settled if rule.count.counts(settled) => Set::Increment,
            _ => return,
        };
        list.put(attempts, set);
    }

    /// Increments the version and sets the time of the last change, in every write.
    pub(super) fn assign_version(&self, step: &Move<'_>, list: &mut Assignments) {
        self.put_role(ColumnRole::Version, Set::Increment, list);
        let Some(updated) = self.column(ColumnRole::Updated) else { return };
        if step.transition == Transition::Claimed {
            // The same column may hold the claim time, which has a stricter rule.
            list.put_new(updated, Set::Now);
        } else {
            list.put(updated, Set::Now);
        }
    }
}
