//! Checks that each feature has the columns that it needs, and that each fence changes with every claim.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{
    AttemptCounting, ClaimedState, ColumnRole, Condition, Defer, GroupMode, LeaseBy, Schedule, Set, Stage,
    Transition,
};

use super::{Verifier, key};

impl Verifier<'_> {
    pub(super) fn roles(&self) {
        self.one_column_each();
        self.due();
        if self.column(ColumnRole::Attempts).is_none() {
            self.missing_role(
                "columns.attempts",
                ColumnRole::Attempts,
                "without it rows would be retried forever",
            );
        }
        if self.contract.claim.min_age > Duration::ZERO && self.column(ColumnRole::Created).is_none() {
            self.missing_role("claim.min_age", ColumnRole::Created, "the age counts from it");
        }
        if self.contract.pool.is_some() && self.column(ColumnRole::Pool).is_none() {
            self.missing_role("pool", ColumnRole::Pool, "it holds the pool of a row");
        }
        self.group_order();
        for stage in &self.contract.stages {
            self.group(stage);
            self.lease(stage);
            self.fence(stage);
            self.schedule(stage);
        }
    }

    fn group_order(&self) {
        let Some(group) = &self.contract.group else { return };
        if group.keeps_order() && group.sequence.is_empty() {
            let what = "is empty, and no column has the role `created`: the group has no order";
            let id = &self.contract.table.id;
            let remedy = format!("write sequence = [\"COLUMN\"], or sequence = [\"{id}\"] if keys count up");
            self.report.add_for_key("group.sequence", what, remedy);
        }
    }

    /// Checks that a row in flight can be distinguished from a waiting one, for pools and groups.
    fn group(&self, stage: &Stage) {
        if self.contract.pool.is_some() && stage.claimed == ClaimedState::Same {
            let what = format!(
                "rows in flight of stage `{}` cannot be counted, because it has no claimed state",
                stage.name
            );
            self.report.add_for_key("pool", what, "set `claimed` of the stage to a state");
        }
        let passes = self.contract.group.as_ref().is_some_and(|group| group.allows(GroupMode::Next));
        if passes && stage.claimed == ClaimedState::Same {
            let what = format!("`next` needs a claimed state, and stage `{}` has none", stage.name);
            self.report.add_for_key("group.on_error", what, "set `claimed` of the stage to a state");
        }
    }

    fn column(&self, role: ColumnRole) -> Option<&str> {
        self.contract.column(role)
    }

    /// Whether the column is required, so that every table has it.
    fn is_required(&self, role: ColumnRole) -> bool {
        self.contract.columns.0.get(&role).is_some_and(|column| !column.optional)
    }

    /// Reports a missing role at the key that needs it; if that key is a default, at `columns.ROLE`.
    fn missing_role(&self, at: &str, role: ColumnRole, why: &str) {
        let what = format!("no column has the role `{role}`: {why}");
        let own = format!("columns.{role}");
        let at = if self.report.has_key(at) { at } else { own.as_str() };
        self.report.add_for_key(at, what, format!("add {role} = \"COLUMN\" to [columns]"));
    }

    /// Checks that a column has only one role, except for times that are written together, and for a due time that
    /// becomes the time of the delivery.
    fn one_column_each(&self) {
        let mut by_column: BTreeMap<&str, Vec<ColumnRole>> = BTreeMap::new();
        for role in ColumnRole::ALL {
            if let Some(column) = self.column(role) {
                by_column.entry(column).or_default().push(role);
            }
        }
        for (column, roles) in by_column {
            let together = [ColumnRole::ClaimedAt, ColumnRole::Updated, ColumnRole::Attempted];
            let is_due_and_finished = roles == [ColumnRole::Due, ColumnRole::Finished];
            if let [first, .., last] = roles.as_slice()
                && !is_due_and_finished
                && !roles.iter().all(|role| together.contains(role))
            {
                let what = format!(
                    "{column} cannot have both roles `{first}` and `{last}`, which are written differently"
                );
                self.report.add_for_key(
                    &format!("columns.{last}"),
                    what,
                    "use another column for one of the two",
                );
            }
        }
    }

    fn due(&self) {
        let due = &self.contract.due;
        let has_column = self.column(ColumnRole::Due).is_some();
        match due.after {
            Some(_) if has_column => {
                self.report.add_for_key(
                    "due.after",
                    "cannot be combined with a due column",
                    "remove it, or remove the role `due`",
                );
            }
            Some(role) if !role.is_time() => {
                self.report.add_for_key(
                    "due.after",
                    format!("the role `{role}` is not a time"),
                    "write \"attempted\" or \"updated\"",
                );
            }
            Some(role) if self.column(role).is_none() => {
                self.missing_role("due.after", role, "the due time is computed from it");
            }
            Some(role) => self.due_survives(role),
            None => {}
        }
        if due.retry_after.is_some() && due.after.is_none() {
            let remedy = "remove it: a due column already holds the longer delay";
            self.report.add_for_key("due.retry_after", "has no effect without `after`", remedy);
        }
        match due.defer {
            Defer::Due if !has_column => {
                self.missing_role("due.defer", ColumnRole::Due, "deferred rows store \"not before T\" in it");
            }
            Defer::Lease => {
                let claims = self.contract.stages.iter().all(|stage| stage.claimed != ClaimedState::Same);
                if !self.keeps_time() || !claims {
                    let what = "needs a claimed state, and a required column with the role `claimed_at` or `lease_until`";
                    self.report.add_for_key("due.defer", what, "write defer = \"due\" or \"none\"");
                }
            }
            Defer::Due | Defer::None => {}
        }
    }

    /// Checks that a computed due time does not depend on a column that every settle clears.
    fn due_survives(&self, role: ColumnRole) {
        let Some(column) = self.column(role) else { return };
        let cleared = (column.to_owned(), Condition::Null(false));
        let by_stage = |stage: &&Stage| match stage.claimed {
            ClaimedState::State(claimed) => self.contract.state(claimed).conditions.contains(&cleared),
            ClaimedState::Same => false,
        };
        if let Some(stage) = self.contract.stages.iter().find(by_stage) {
            let what = format!(
                "{column} is set to NULL when a row leaves the claimed state of stage `{}`",
                stage.name
            );
            self.report.add_for_key("due.after", what, "write \"attempted\" or \"updated\"");
        }
    }

    fn lease(&self, stage: &Stage) {
        let at = self.lease_key(stage, "by");
        match (stage.lease.by, stage.claimed) {
            (LeaseBy::Due, ClaimedState::State(_)) => {
                self.report.add_for_key(
                    &key(stage, "claimed"),
                    "lease.by = \"due\" does not change the state",
                    "write claimed = \"same\"",
                );
            }
            (LeaseBy::Due, ClaimedState::Same) if !self.is_required(ColumnRole::Due) => {
                self.missing_role(&at, ColumnRole::Due, "the claim moves it ahead");
            }
            (LeaseBy::Time, ClaimedState::Same) => {
                self.report.add_for_key(
                    &key(stage, "claimed"),
                    "\"same\" needs lease.by = \"due\": otherwise claimed rows could not be distinguished from waiting ones",
                    "name a state, or set lease.by = \"due\"",
                );
            }
            (LeaseBy::Time, ClaimedState::State(_)) if stage.lease.poison.is_some() && stage.lease.spend => {
                let what = "cannot be combined with spend = true, which counts crashes as attempts";
                self.report.add_for_key(
                    &self.lease_key(stage, "poison"),
                    what,
                    "write spend = false, or remove it",
                );
            }
            (LeaseBy::Time, ClaimedState::State(_))
                if stage.lease.poison.is_some() && self.column(ColumnRole::Error).is_none() =>
            {
                let why = "crashes are counted in it";
                self.missing_role(&self.lease_key(stage, "poison"), ColumnRole::Error, why);
            }
            (LeaseBy::Time, ClaimedState::State(_)) if !self.keeps_time() => {
                let why = "without it no lease could expire, and rows of a crashed worker would stay claimed";
                self.missing_role(&at, ColumnRole::ClaimedAt, why);
            }
            _ => {}
        }
    }

    /// Whether every table records how old a claim is.
    fn keeps_time(&self) -> bool {
        self.is_required(ColumnRole::ClaimedAt) || self.is_required(ColumnRole::LeaseUntil)
    }

    fn lease_key(&self, stage: &Stage, field: &str) -> String {
        let own = format!("stage.{}.lease.{field}", stage.name);
        if self.report.has_key(&own) { own } else { format!("lease.{field}") }
    }

    fn fence(&self, stage: &Stage) {
        let at = self.lease_key(stage, "fence");
        let fence = &stage.lease.fence;
        if fence.is_empty() {
            let is_reported = stage.lease.by == LeaseBy::Time && !self.keeps_time();
            if !is_reported {
                let what = "is empty: a worker that lost its lease could overwrite results";
                self.report.add_for_key(
                    &at,
                    what,
                    "add a column with the role version or claimed_at to [columns], and name the role here",
                );
            }
            return;
        }
        let claim = self.contract.assignments(&self.contract.lease_move(stage, Transition::Claimed));
        let written = |role: ColumnRole| {
            let column = self.column(role)?;
            claim.iter().find(|one| one.column == column).map(|one| &one.set)
        };
        for role in fence {
            let spends = *role == ColumnRole::Attempts && stage.lease.spend && fence.len() > 1;
            if self.column(*role).is_none() {
                self.missing_role(&at, *role, "the fence contains it");
            } else if *role != ColumnRole::Id && !self.is_required(*role) {
                let what = format!("the column of `{role}` is optional, and a fence must always be there");
                self.report.add_for_key(&at, what, "choose a role whose column is required");
            } else if written(*role).is_none() && !spends {
                let what = format!("a claim does not write `{role}`");
                self.report.add_for_key(
                    &at,
                    what,
                    "choose a role that a claim writes: version, claimed_at, owner or lease_until",
                );
            }
        }
        let changes = |role: &ColumnRole| {
            matches!(written(*role), Some(Set::NowLater | Set::LeaseEnd | Set::Increment))
        };
        if fence.iter().all(|role| written(*role).is_some()) && !fence.iter().any(changes) {
            let what = "does not change when the same worker claims the row again";
            self.report.add_for_key(&at, what, "add claimed_at or version");
        }
    }

    fn schedule(&self, stage: &Stage) {
        let own = format!("stage.{}.retry", stage.name);
        let prefix = if self.report.has_key(&own) { own } else { "retry".to_owned() };
        let named = stage
            .retry_rule
            .named
            .iter()
            .map(|(name, schedule)| (format!("{prefix}.named.{name}"), schedule));
        let mut waits = false;
        for (path, schedule) in std::iter::once((prefix.clone(), &stage.retry_rule.schedule)).chain(named) {
            waits |= self.one_schedule(&path, schedule);
        }
        let computed = self.contract.due.after.is_some();
        if waits && !computed && self.column(ColumnRole::Due).is_none() {
            self.missing_role(
                &prefix,
                ColumnRole::Due,
                "the time of the next attempt is stored in it (or set due.after)",
            );
        }
        if computed && stage.retry_rule.column.is_some() {
            self.report.add_for_key(
                &format!("{prefix}.column"),
                "cannot be combined with due.after, which has one schedule for all rows",
                "remove it, or add a column with the role due",
            );
        }
        if stage.attempts.count == AttemptCounting::Retries && stage.attempts.max == 1 {
            self.report.add_for_key(
                "attempts.max",
                "1 cannot be combined with count = \"retries\": no attempt would ever be counted",
                "write count = \"failures\", or a higher maximum",
            );
        }
    }

    /// Checks a schedule; returns whether it ever waits.
    fn one_schedule(&self, path: &str, schedule: &Schedule) -> bool {
        let (waits, jitter) = match schedule {
            Schedule::Exponential { base, cap, jitter, .. } => {
                if cap < base {
                    let at = self.report.outermost(&[format!("{path}.cap"), format!("{path}.base")]);
                    let what = format!(
                        "the cap ({}s) is below the base ({}s)",
                        cap.as_secs_f64(),
                        base.as_secs_f64()
                    );
                    self.report.add_for_key(&at, what, "raise the cap, or lower the base");
                }
                (true, *jitter)
            }
            Schedule::Delays { delays, jitter, .. } => (delays.iter().any(|delay| !delay.is_zero()), *jitter),
        };
        if self.contract.due.after.is_some() && jitter > 0.0 {
            self.report.add_for_key(
                &format!("{path}.jitter"),
                "cannot be combined with due.after",
                "remove it, or add a column with the role due",
            );
        }
        waits
    }
}
