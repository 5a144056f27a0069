//! Checks that each feature has the columns that it needs, and that each fence changes with every claim.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::{Claimed, Condition, Count, Defer, Hold, LeaseBy, Role, Schedule, Set, Stage, Transition};

use super::{Proof, key};

impl Proof<'_> {
    pub(super) fn roles(&self) {
        self.one_column_each();
        self.due();
        if self.column(Role::Attempts).is_none() {
            self.lacks("columns.attempts", Role::Attempts, "rows would be tried for ever");
        }
        if self.contract.claim.min_age > Duration::ZERO && self.column(Role::Created).is_none() {
            self.lacks("claim.min_age", Role::Created, "it counts since `created`");
        }
        if self.contract.pool.is_some() && self.column(Role::Pool).is_none() {
            self.lacks("pool", Role::Pool, "it names a row's pool");
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
            let what = "has no order: no column plays the role `created`, and `sequence` names none";
            let id = &self.contract.table.id;
            let remedy = format!("write sequence = [\"COLUMN\"], or sequence = [\"{id}\"] where keys grow");
            self.log.key("group.sequence", what, remedy);
        }
    }

    /// Checks that a row in flight can be distinguished from a waiting one, for pools and groups.
    fn group(&self, stage: &Stage) {
        if self.contract.pool.is_some() && stage.claimed == Claimed::Same {
            let what = format!("a pool can't count the rows in flight of stage {}", stage.name);
            self.log.key("pool", what, "give the stage a claimed state of its own");
        }
        let passes = self.contract.group.as_ref().is_some_and(|group| group.may(Hold::Next));
        if passes && stage.claimed == Claimed::Same {
            let what =
                format!("`next` can't tell a row in flight from one that waits in stage {}", stage.name);
            self.log.key("group.on_error", what, "give the stage a claimed state of its own");
        }
    }

    fn column(&self, role: Role) -> Option<&str> {
        self.contract.column(role)
    }

    /// Whether the column is required, so that every table has it.
    fn sure(&self, role: Role) -> bool {
        self.contract.columns.0.get(&role).is_some_and(|column| !column.optional)
    }

    /// Reports a missing role at the key that needs it; if that key is a default, at `columns.ROLE`.
    fn lacks(&self, at: &str, role: Role, why: &str) {
        let what = format!("no column plays the role `{role}`: {why}");
        let own = format!("columns.{role}");
        let at = if self.log.knows(at) { at } else { own.as_str() };
        self.log.key(at, what, format!("add {role} = \"COLUMN\" to [columns]"));
    }

    /// Checks that a column has only one role, except for times that are written together.
    fn one_column_each(&self) {
        let mut by_column: BTreeMap<&str, Vec<Role>> = BTreeMap::new();
        for role in Role::ALL {
            if let Some(column) = self.column(role) {
                by_column.entry(column).or_default().push(role);
            }
        }
        for (column, roles) in by_column {
            let together = [Role::ClaimedAt, Role::Updated, Role::Attempted];
            if let [first, .., last] = roles.as_slice()
                && !roles.iter().all(|role| together.contains(role))
            {
                let what = format!("{column} can't be both `{first}` and `{last}`: their writes differ");
                self.log.key(&format!("columns.{last}"), what, "give each role a column of its own");
            }
        }
    }

    fn due(&self) {
        let due = &self.contract.due;
        let has_column = self.column(Role::Due).is_some();
        match due.after {
            Some(_) if has_column => {
                self.log.key("due.after", "stands beside a due column", "keep one of the two");
            }
            Some(role) if !role.is_time() => {
                self.log.key("due.after", format!("`{role}` is no time"), "use attempted or updated");
            }
            Some(role) if self.column(role).is_none() => {
                self.lacks("due.after", role, "rows fall due after it");
            }
            Some(role) => self.due_survives(role),
            None => {}
        }
        if let Some(wish) = &due.wish
            && due.after.is_none()
        {
            let what = format!("{} has no meaning beside a due column", wish.member);
            self.log.key("due.wish", what, "it is for due.after; a due column holds the longer wait already");
        }
        match due.defer {
            Defer::Due if !has_column => {
                self.lacks("due.defer", Role::Due, "it is where \"not before\" is kept");
            }
            Defer::Lease => {
                let claims = self.contract.stages.iter().all(|stage| stage.claimed != Claimed::Same);
                if !self.keeps_time() || !claims {
                    let what =
                        "needs a claimed state and claimed_at or lease_until to keep \"not before\" in";
                    self.log.key("due.defer", what, "write \"due\" or \"none\"");
                }
            }
            Defer::Due | Defer::None => {}
        }
    }

    /// Checks that a computed due time does not depend on a column that every settle clears.
    fn due_survives(&self, role: Role) {
        let Some(column) = self.column(role) else { return };
        let cleared = (column.to_owned(), Condition::Null(false));
        let by_stage = |stage: &&Stage| match stage.claimed {
            Claimed::State(claimed) => self.contract.state(claimed).conditions.contains(&cleared),
            Claimed::Same => false,
        };
        if let Some(stage) = self.contract.stages.iter().find(by_stage) {
            let what = format!("{column} is emptied when a row leaves the claimed state of `{}`", stage.name);
            self.log.key("due.after", what, "use attempted or updated");
        }
    }

    fn lease(&self, stage: &Stage) {
        let at = self.lease_key(stage, "by");
        match (stage.lease.by, stage.claimed) {
            (LeaseBy::Due, Claimed::State(_)) => {
                self.log.key(
                    &key(stage, "claimed"),
                    "a lease by due time does not change the state",
                    "write claimed = \"same\"",
                );
            }
            (LeaseBy::Due, Claimed::Same) if !self.sure(Role::Due) => {
                self.lacks(&at, Role::Due, "it holds the lease");
            }
            (LeaseBy::Time, Claimed::Same) => {
                self.log.key(
                    &key(stage, "claimed"),
                    "without a claimed state nobody sees that a row is held",
                    "name a state, or write lease.by = \"due\"",
                );
            }
            (LeaseBy::Time, Claimed::State(_)) if stage.lease.poison.is_some() && stage.lease.spend => {
                let what = "counts what `spend` counts already";
                self.log.key(&self.lease_key(stage, "poison"), what, "write spend = false, or leave it out");
            }
            (LeaseBy::Time, Claimed::State(_))
                if stage.lease.poison.is_some() && self.column(Role::Error).is_none() =>
            {
                let why = "take-overs are counted in it";
                self.lacks(&self.lease_key(stage, "poison"), Role::Error, why);
            }
            (LeaseBy::Time, Claimed::State(_)) if !self.keeps_time() => {
                let why =
                    "nothing else tells when a lease runs out, and a crashed worker's rows would be stuck";
                self.lacks(&at, Role::ClaimedAt, why);
            }
            _ => {}
        }
    }

    /// Whether every table records how old a claim is.
    fn keeps_time(&self) -> bool {
        self.sure(Role::ClaimedAt) || self.sure(Role::LeaseUntil)
    }

    fn lease_key(&self, stage: &Stage, field: &str) -> String {
        let own = format!("stage.{}.lease.{field}", stage.name);
        if self.log.knows(&own) { own } else { format!("lease.{field}") }
    }

    fn fence(&self, stage: &Stage) {
        let at = self.lease_key(stage, "fence");
        let fence = &stage.lease.fence;
        if fence.is_empty() {
            let told = stage.lease.by == LeaseBy::Time && !self.keeps_time();
            if !told {
                let what = "nothing fences a worker that lost its lease";
                self.log.key(&at, what, "add a version or claimed_at column to [columns], and name it here");
            }
            return;
        }
        let claim = self.contract.assignments(&self.contract.lease_move(stage, Transition::Claimed));
        let written = |role: Role| {
            let column = self.column(role)?;
            claim.iter().find(|one| one.column == column).map(|one| &one.set)
        };
        for role in fence {
            let spends = *role == Role::Attempts && stage.lease.spend && fence.len() > 1;
            if self.column(*role).is_none() {
                self.lacks(&at, *role, "it is part of the fence");
            } else if *role != Role::Id && !self.sure(*role) {
                let what = format!("`{role}` may be absent from the table, and then fences nothing");
                self.log.key(&at, what, "fence with a column that is always there");
            } else if written(*role).is_none() && !spends {
                let what = format!("a claim does not write `{role}`");
                self.log.key(
                    &at,
                    what,
                    "fence with what a claim writes: version, claimed_at, owner, lease_until",
                );
            }
        }
        let changes =
            |role: &Role| matches!(written(*role), Some(Set::NowLater | Set::LeaseEnd | Set::Increment));
        if fence.iter().all(|role| written(*role).is_some()) && !fence.iter().any(changes) {
            let what = "does not change when the same worker claims the row again";
            self.log.key(&at, what, "add claimed_at or version");
        }
    }

    fn schedule(&self, stage: &Stage) {
        let own = format!("stage.{}.retry", stage.name);
        let prefix = if self.log.knows(&format!("{own}.to")) { own } else { "retry".to_owned() };
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
        if waits && !computed && self.column(Role::Due).is_none() {
            self.lacks(&prefix, Role::Due, "nothing remembers when a retry is due (or set due.after)");
        }
        if computed && stage.retry_rule.column.is_some() {
            self.log.key(
                &format!("{prefix}.column"),
                "a computed due time has one schedule for all rows",
                "add a due column",
            );
        }
        if stage.attempts.count == Count::Retries && stage.attempts.max == 1 {
            self.log.key(
                "attempts.max",
                "with count = \"retries\" and one attempt nothing is ever counted",
                "use count = \"failures\"",
            );
        }
    }

    /// Checks a schedule; returns whether it ever waits.
    fn one_schedule(&self, path: &str, schedule: &Schedule) -> bool {
        let (waits, jitter) = match schedule {
            Schedule::Exponential { base, cap, jitter, .. } => {
                if cap < base {
                    let at = self.log.outermost(&[format!("{path}.cap"), format!("{path}.base")]);
                    let what = format!(
                        "the cap ({}s) is below the base ({}s)",
                        cap.as_secs_f64(),
                        base.as_secs_f64()
                    );
                    self.log.key(&at, what, "raise the cap, or lower the base");
                }
                (true, *jitter)
            }
            Schedule::Delays { delays, jitter, .. } => (delays.iter().any(|delay| !delay.is_zero()), *jitter),
        };
        if self.contract.due.after.is_some() && jitter > 0.0 {
            self.log.key(
                &format!("{path}.jitter"),
                "a computed due time can't be jittered",
                "remove it, or add a due column",
            );
        }
        waits
    }
}
