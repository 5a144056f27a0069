//! Column assignments of every transition: the rules of the contract language that have no key of their own.
//!
//! Owns: the list of `column = value` pairs of every transition. Must not: know an SQL dialect; stores translate a
//! [`Set`] into SQL or into a change in memory. Invariant: a column is assigned at most once, and the assignments
//! satisfy the conditions of the target state.

use crate::{
    Claimed, Condition, Contract, Count, Defer, Expr, LeaseBy, Literal, Role, Stage, StateId, Sweep,
    Transition,
};

/// The error text of a row whose lease expired.
pub const LEASE_EXPIRED: &str = "lease expired: the worker that held it is gone";
/// The error text of a ready row that the sweep ends because it has no attempts left.
pub const ATTEMPTS_SPENT: &str = "attempts spent";
/// The member of the error column's JSON that counts expired leases (contracts with `lease.poison`).
pub const TAKEOVERS: &str = "takeovers";
/// The error code of a row that was reclaimed too often.
pub const POISON: &str = "poison";
/// The error message that goes with [`POISON`].
pub const POISON_MESSAGE: &str = "taken over too often: its workers died, or lost it, while they held it";
/// The owner value of a row whose lock only means "not before T".
pub const DEFERRED_OWNER: &str = "deferred";

/// One transition of rows that are in any of the states `from`. `to` is `None` where the state does not change.
#[derive(Debug, Clone, Copy)]
pub struct Move<'a> {
    pub stage: &'a Stage,
    pub transition: Transition,
    pub from: &'a [StateId],
    pub to: Option<StateId>,
    /// The contract's sweep that makes this move; `None` for the built-in sweep of rows without attempts left.
    pub sweep: Option<&'a Sweep>,
}

/// One column and the value that a move writes into it.
#[derive(Debug, Clone, PartialEq)]
pub struct Assignment {
    pub column: String,
    pub set: Set,
}

/// The value that a move writes into a column.
#[derive(Debug, Clone, PartialEq)]
pub enum Set {
    Null,
    Literal(Literal),
    /// The first literal if no attempt was made on the row, else the second.
    ByAttempts(Literal, Literal),
    /// The database's clock.
    Now,
    /// The database's clock, but always later than the column's current value.
    NowLater,
    /// Now + the lease duration, but always later than the column's current value.
    LeaseEnd,
    /// Now + the settlement's delay.
    AfterDelay,
    /// Now + the settlement's delay - the lease duration: a lock that expires when the delay is over.
    LockForDelay,
    /// The column's current value; now if that is NULL.
    NowIfNull,
    /// 9999-12-31.
    Never,
    /// The current value plus one; NULL counts as 0.
    Increment,
    /// The current value minus one, at least 0: takes back a counted claim that led to no attempt.
    Decrement,
    /// This worker's id.
    Worker,
    /// The move's reason.
    Reason,
    /// The settlement's receipt.
    Receipt,
    /// The current value plus the given one; NULL counts as 0 in both.
    Plus(Expr),
    Expr(Expr),
    /// The column's JSON with [`TAKEOVERS`] incremented; unchanged where the lock only meant "not before T".
    TakeOver,
    /// A JSON object with the code [`POISON`], its message and the number of take-overs, including this one.
    Poisoned,
    /// The value; the column's current value if it is NULL (`?` in a `[write]`).
    ExprOrKeep(Expr),
    /// The column's current value; the given one if that is NULL.
    ExprIfNull(Expr),
}

impl Contract {
    /// Returns the move that starts or ends a claim. A row that is deferred by its lock stays in the claimed state.
    pub fn lease_move<'a>(&self, stage: &'a Stage, transition: Transition) -> Move<'a> {
        let claimed = match &stage.claimed {
            Claimed::State(held) => std::slice::from_ref(held),
            Claimed::Same => stage.ready.as_slice(),
        };
        let locks = transition == Transition::Deferred && self.due.defer == Defer::Lease;
        let from = if transition == Transition::Claimed { stage.ready.as_slice() } else { claimed };
        Move { stage, transition, from, to: if locks { None } else { stage.target(transition) }, sweep: None }
    }

    /// Returns the move of an expired lease to `to`: `stage.retry`, or `stage.dead` if no attempts are left.
    pub fn reclaim_move<'a>(&self, stage: &'a Stage, to: StateId) -> Move<'a> {
        Move { to: Some(to), ..self.lease_move(stage, Transition::Reclaimed) }
    }

    /// Returns the claim time column if claimed rows may have NULL there, and leases are counted from it.
    ///
    /// Such rows were claimed by another program before the column existed. They get the time at which they are first
    /// seen.
    pub fn stamped(&self, stage: &Stage) -> Option<&str> {
        let Claimed::State(held) = stage.claimed else { return None };
        let column = self.column(Role::ClaimedAt).filter(|_| stage.lease.by == LeaseBy::Time)?;
        if self.column(Role::Updated) == Some(column) {
            return None;
        }
        let told = |(known, _): &(String, Condition)| known == column;
        (!self.state(held).conditions.iter().any(told)).then_some(column)
    }

    /// Returns the move of ready rows that have no attempts left to the stage's dead state.
    pub fn spent_move<'a>(&self, stage: &'a Stage) -> Move<'a> {
        Move { stage, transition: Transition::Swept, from: &stage.ready, to: Some(stage.dead), sweep: None }
    }

    /// Returns the move of one of the contract's own sweeps.
    pub fn sweep_move<'a>(&self, stage: &'a Stage, sweep: &'a Sweep) -> Move<'a> {
        Move {
            stage,
            transition: Transition::Swept,
            from: &sweep.from,
            to: Some(sweep.to),
            sweep: Some(sweep),
        }
    }

    /// Returns the move for one `from`/`to` pair of an operator's transition: `Requeued`, `Cancelled` or `Completed`.
    pub fn operator_move<'a>(
        &self,
        stage: &'a Stage,
        transition: Transition,
        (from, to): &'a (StateId, StateId),
    ) -> Move<'a> {
        Move { stage, transition, from: std::slice::from_ref(from), to: Some(*to), sweep: None }
    }

    /// Returns the assignments of a move: by role first, then the contract's own writes.
    pub fn assignments(&self, step: &Move<'_>) -> Vec<Assignment> {
        let mut list = List::default();
        self.assign_state(step, &mut list);
        self.assign_lease(step, &mut list);
        self.assign_due(step, &mut list);
        self.assign_attempts(step, &mut list);
        self.assign_record(step, &mut list);
        self.assign_own(step, &mut list);
        self.assign_mark(step, &mut list);
        self.assign_marks(step, &mut list);
        list.0
    }

    /// Returns the assignments that extend a lease.
    pub fn extension(&self, stage: &Stage) -> Vec<Assignment> {
        let mut list = List::default();
        match (
            stage.lease.by,
            self.column(Role::Due),
            self.column(Role::LeaseUntil),
            self.column(Role::ClaimedAt),
        ) {
            (LeaseBy::Due, Some(due), _, _) => list.put(due, Set::LeaseEnd),
            (_, _, Some(until), _) => list.put(until, Set::LeaseEnd),
            (_, _, None, Some(claimed_at)) => list.put(claimed_at, Set::NowLater),
            (_, _, None, None) => {}
        }
        self.put_role(Role::Version, Set::Increment, &mut list);
        if let Some(updated) = self.column(Role::Updated) {
            list.put_new(updated, Set::Now);
        }
        list.0
    }

    /// Whether this move takes the row into another stage, where its counters start again.
    pub fn enters_another_stage(&self, step: &Move<'_>) -> bool {
        let Some(to) = step.to else { return false };
        // An expired lease, or a row without attempts left, ends a stage just as a settle does.
        let ends = match step.transition {
            Transition::Reclaimed => true,
            Transition::Swept => step.sweep.is_none(),
            other => other == Transition::Delivered || other.is_failure(),
        };
        let own = step.stage.ready.contains(&to) || step.stage.retry == to;
        ends && !own && self.stages.iter().any(|stage| stage.ready.contains(&to))
    }

    fn assign_state(&self, step: &Move<'_>, list: &mut List) {
        let Some(to) = step.to else { return };
        for state in step.from.iter().filter(|state| self.is_claimed(**state) && to != **state) {
            for (column, condition) in &self.state(*state).conditions {
                if *condition == Condition::Null(false) {
                    list.put(column, Set::Null);
                }
            }
        }
        for (column, condition) in &self.state(to).conditions {
            match condition {
                Condition::Is(literal) => list.put(column, self.literal_of(step, column, literal)),
                Condition::Null(true) => list.put(column, Set::Null),
                Condition::Never(true) => list.put(column, Set::Never),
                // The column must not be NULL: the rules for lease and due time write it, or its value is kept.
                Condition::Null(false) => list.put(column, Set::NowIfNull),
                Condition::Never(false) if self.may_be_never(step, column) => list.put(column, Set::Now),
                Condition::Never(false) => {}
            }
        }
    }

    /// Keeps the original state of a row that is released or deferred without an attempt (`stage.untried`).
    fn literal_of(&self, step: &Move<'_>, column: &str, literal: &Literal) -> Set {
        let back = matches!(step.transition, Transition::Deferred | Transition::Released);
        let untried = step.stage.untried.filter(|_| back && step.to == Some(step.stage.retry));
        let kept = untried.and_then(|state| {
            let conditions = &self.state(state).conditions;
            conditions.iter().find_map(|(known, condition)| match condition {
                Condition::Is(kept) if known == column => Some(kept),
                _ => None,
            })
        });
        match kept {
            Some(kept) if kept != literal => Set::ByAttempts(kept.clone(), literal.clone()),
            _ => Set::Literal(literal.clone()),
        }
    }

    fn may_be_never(&self, step: &Move<'_>, column: &str) -> bool {
        let never = (column.to_owned(), Condition::Never(true));
        step.from.iter().any(|state| self.state(*state).conditions.contains(&never))
    }

    /// Adds the contract's own writes: those of `failed`, then those of one transition, then those of the sweep.
    fn assign_own(&self, step: &Move<'_>, list: &mut List) {
        let spent = step.transition == Transition::Swept && step.sweep.is_none();
        let mut put = |column: &str, value: &Expr| {
            let value = self.without_outcome(step, value);
            let set = match value {
                value if spent => Set::ExprIfNull(value),
                value if value.may_be_absent() => Set::ExprOrKeep(value),
                value => Set::Expr(value),
            };
            list.put(column, set);
        };
        let (shared, own): (Vec<_>, Vec<_>) = self
            .writes
            .iter()
            .filter(|write| write.on.contains(&step.transition))
            .partition(|write| write.on.len() > 1);
        shared.into_iter().chain(own).for_each(|write| put(&write.column.name, &write.value));
        for (column, value) in step.sweep.iter().flat_map(|sweep| &sweep.writes) {
            put(&column.name, value);
        }
    }

    /// Replaces `$outcome` in moves without a delivery: the code is the cause, the message the reason, the rest NULL.
    fn without_outcome(&self, step: &Move<'_>, value: &Expr) -> Expr {
        let code = match (step.transition, step.to) {
            (Transition::Reclaimed, _) => "lease_expired",
            (Transition::Swept, Some(to)) => self.state(to).name.as_str(),
            _ => return value.clone(),
        };
        match value {
            Expr::Outcome { field, .. } if field == "code" => Expr::Literal(Literal::Text(code.to_owned())),
            Expr::Outcome { field, .. } if field == "message" => Expr::Reason { optional: true },
            Expr::Outcome { .. } | Expr::Envelope { .. } => Expr::Null,
            Expr::Json(members) => Expr::Json(
                members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.without_outcome(step, value)))
                    .collect(),
            ),
            other => other.clone(),
        }
    }

    /// Whether failed rows of another stage, or mails that some recipients refused, end in this state.
    ///
    /// The row's error then says why it failed or who refused it, and a stage that continues from there (a callback)
    /// leaves the error alone.
    pub fn tells_of_failure(&self, state: StateId) -> bool {
        let taken_up = self.stages.iter().any(|stage| stage.ready.contains(&state));
        let failed = |stage: &Stage| {
            [stage.dead, stage.rejected, stage.skipped].contains(&state)
                || (stage.delivered == state && self.records_refusals(stage))
        };
        taken_up && self.stages.iter().any(failed)
    }

    /// Whether the error of a delivered row names the recipients that permanently refused the mail. If the table has a
    /// column for the result of each recipient, they are recorded there, and a delivery clears the error.
    fn records_refusals(&self, stage: &Stage) -> bool {
        stage.sends_mail() && !self.keeps_recipient_results()
    }

    fn assign_lease(&self, step: &Move<'_>, list: &mut List) {
        let defers_by_lock = step.transition == Transition::Deferred && self.due.defer == Defer::Lease;
        if step.transition == Transition::Claimed {
            self.put_role(Role::ClaimedAt, Set::NowLater, list);
            self.put_role(Role::LeaseUntil, Set::LeaseEnd, list);
            self.put_role(Role::Owner, Set::Worker, list);
        } else if defers_by_lock {
            let until =
                if self.column(Role::LeaseUntil).is_some() { Role::LeaseUntil } else { Role::ClaimedAt };
            let set = if until == Role::LeaseUntil { Set::AfterDelay } else { Set::LockForDelay };
            self.put_role(until, set, list);
            let owner = Set::Literal(Literal::Text(DEFERRED_OWNER.to_owned()));
            self.put_role(Role::Owner, owner, list);
        } else {
            self.put_role(Role::LeaseUntil, Set::Null, list);
            self.put_role(Role::Owner, Set::Null, list);
        }
    }

    fn assign_due(&self, step: &Move<'_>, list: &mut List) {
        let Some(due) = self.column(Role::Due) else { return };
        let by_due = step.stage.lease.by == LeaseBy::Due;
        let set = match step.transition {
            Transition::Claimed if by_due => Set::LeaseEnd,
            Transition::Retry => Set::AfterDelay,
            Transition::Deferred if self.due.defer == Defer::Due => Set::AfterDelay,
            Transition::Released | Transition::Deferred if by_due => Set::Now,
            Transition::Reclaimed if step.to == Some(step.stage.retry) => Set::Now,
            Transition::Requeued if list.get(due) != Some(&Set::Null) => Set::Now,
            _ if self.enters_another_stage(step) && list.get(due) != Some(&Set::Never) => Set::Now,
            _ => return,
        };
        list.put(due, set);
    }

    fn assign_attempts(&self, step: &Move<'_>, list: &mut List) {
        let Some(attempts) = self.column(Role::Attempts) else { return };
        let rule = &step.stage.attempts;
        let claims = rule.count == Count::Claims;
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
                Count::Claims => return,
                Count::Retries if step.to != Some(step.stage.retry) => return,
                Count::Retries | Count::Failures | Count::Attempts => Set::Increment,
            },
            settled if rule.count.counts(settled) => Set::Increment,
            _ => return,
        };
        list.put(attempts, set);
    }

    /// Assigns the error, the receipt and the times of a finished attempt.
    fn assign_record(&self, step: &Move<'_>, list: &mut List) {
        let tried = step.transition == Transition::Delivered || step.transition.is_failure();
        let spent = step.transition == Transition::Reclaimed && step.stage.lease.spend;
        match step.transition {
            _ if step.stage.ready.iter().any(|ready| self.tells_of_failure(*ready)) => {}
            Transition::Requeued if step.to.is_some_and(|to| self.tells_of_failure(to)) => {}
            Transition::Delivered if self.records_refusals(step.stage) => {
                self.put_role(Role::Error, Set::Reason, list);
            }
            Transition::Delivered | Transition::Requeued => self.put_role(Role::Error, Set::Null, list),
            Transition::Swept if step.sweep.is_none() => {
                self.put_role(Role::Error, Set::ExprIfNull(Expr::Reason { optional: true }), list);
            }
            Transition::Swept if step.sweep.is_some_and(|sweep| sweep.reason.is_some()) => {
                self.put_role(Role::Error, Set::Reason, list);
            }
            Transition::Reclaimed if step.stage.lease.poison.is_some() => {
                let back = step.to == Some(step.stage.retry);
                self.put_role(Role::Error, if back { Set::TakeOver } else { Set::Poisoned }, list);
            }
            _ if spent || step.transition.is_failure() => self.put_role(Role::Error, Set::Reason, list),
            _ => {}
        }
        match step.transition {
            Transition::Delivered => {
                self.put_role(Role::Receipt, Set::Receipt, list);
                if !self.enters_another_stage(step) {
                    self.put_role(Role::Finished, Set::Now, list);
                }
            }
            Transition::Completed => self.put_role(Role::Finished, Set::Now, list),
            Transition::Requeued => self.put_role(Role::Finished, Set::Null, list),
            _ => {}
        }
        if tried || spent {
            self.put_role(Role::Attempted, Set::Now, list);
        }
        if tried {
            let spent = Expr::Outcome { field: "duration_ms".to_owned(), optional: true };
            self.put_role(Role::Duration, Set::Plus(spent), list);
        }
    }

    /// Increments the version and sets the time of the last change, in every write.
    fn assign_marks(&self, step: &Move<'_>, list: &mut List) {
        self.put_role(Role::Version, Set::Increment, list);
        let Some(updated) = self.column(Role::Updated) else { return };
        if step.transition == Transition::Claimed {
            // The same column may hold the claim time, which has a stricter rule.
            list.put_new(updated, Set::Now);
        } else {
            list.put(updated, Set::Now);
        }
    }

    pub(crate) fn put_role(&self, role: Role, set: Set, list: &mut List) {
        if let Some(column) = self.column(role) {
            list.put(column, set);
        }
    }
}

impl Expr {
    /// Whether the value was written with a `?`: in a `[write]` the column then keeps its current value.
    fn may_be_absent(&self) -> bool {
        match self {
            Self::Reason { optional }
            | Self::Row { optional, .. }
            | Self::Envelope { optional, .. }
            | Self::Outcome { optional, .. } => *optional,
            _ => false,
        }
    }
}

#[derive(Default)]
pub(crate) struct List(Vec<Assignment>);

impl From<List> for Vec<Assignment> {
    fn from(list: List) -> Self {
        list.0
    }
}

impl List {
    fn get(&self, column: &str) -> Option<&Set> {
        self.0.iter().find(|known| known.column == column).map(|known| &known.set)
    }

    /// Sets the column, replacing an earlier rule.
    pub(crate) fn put(&mut self, column: &str, set: Set) {
        match self.0.iter_mut().find(|known| known.column == column) {
            Some(known) => known.set = set,
            None => self.0.push(Assignment { column: column.to_owned(), set }),
        }
    }

    pub(crate) fn put_new(&mut self, column: &str, set: Set) {
        if self.get(column).is_none() {
            self.put(column, set);
        }
    }
}
