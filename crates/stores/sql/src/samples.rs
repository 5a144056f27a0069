//! Every statement of a stage with sample values of its own type, for tests that review, bind or run them all.

use postrider_contract::Transition;
use postrider_seams::row::Lease;
use postrider_seams::store::Settlement;

use crate::bind::{Ids, Limit};
use crate::claim::params::Claiming;
use crate::driver::Access;
use crate::driver::execute::Statement;
use crate::groups::cursor::SearchPlan;
use crate::groups::params::{GroupClaimParams, GroupSearchParams};
use crate::inspect::statements::Changed;
use crate::pools::permits::{FairKey, OpenPools, PoolPermits};
use crate::pools::statements::{Pools, ShareSearch};
use crate::settle::params::{Leases, Settlements};
use crate::settle::statements::{Settle, SettleRows};
use crate::typed::{Params, TypedScript};
use crate::{Dialect, Layout, Script, Statements, Step};

/// A script with sample values.
pub struct Sample<'a> {
    pub title: String,
    pub script: &'a Script,
    pub access: Access,
    /// The script's steps with the values of its parameters.
    pub statements: Vec<Statement>,
}

/// Collects scripts with samples that are about one lease.
struct Samples<'s, 'l> {
    dialect: Dialect,
    lease: &'l Lease,
    layout: &'s Layout,
    found: Vec<Sample<'s>>,
}

impl Statements {
    /// Returns every script with sample values that are about this lease.
    pub fn samples(&self, dialect: Dialect, lease: &Lease) -> Vec<Sample<'_>> {
        let mut samples = Samples { dialect, lease, layout: &self.layout, found: Vec::new() };
        samples.add_claims(self);
        samples.add_leases(self);
        samples.add_maintenance(self);
        samples.add_inspection(self);
        samples.add_handoff(self);
        samples.found
    }
}

impl<'s> Samples<'s, '_> {
    #[expect(clippy::needless_pass_by_value, reason = "callers make them for the call")]
    fn add<P: Params, S: TypedScript<P>>(&mut self, title: impl Into<String>, script: &'s S, params: P) {
        let held = [self.lease.id.clone()];
        let bound = |step: &Step| step.bind_values(self.dialect, "tester", &params, &held);
        let statements = script.script().steps.iter().map(bound).collect();
        let (access, script) = (script.access(), script.script());
        self.found.push(Sample { title: title.into(), script, access, statements });
    }

    fn claiming<P>(&self, params: P) -> Claiming<P> {
        let mut claiming = Claiming::new(self.layout, params);
        claiming.time = Some("2026-01-01 00:00:00".to_owned());
        claiming
    }

    fn permits(&self) -> PoolPermits {
        let share = FairKey { key: "fa\tb".to_owned(), limited: None, most: 10 };
        let names = || vec!["a".to_owned()];
        PoolPermits::new(vec![share], OpenPools { limited: names(), open: names() }, self.layout.pool)
    }

    fn add_claims(&mut self, statements: &'s Statements) {
        for (index, script) in statements.claim.iter().enumerate() {
            self.add(format!("claim {}", index + 1), script, self.claiming(Limit(10)));
        }
        let search = ShareSearch { cursor: Some("fa\tb"), limit: 10 };
        if let Some(shares) = &statements.shares {
            self.add("shares", &shares.first, search);
            self.add("shares from a cursor", &shares.after, search);
            self.add("claim shares", &shares.take, self.claiming(self.permits()));
        }
        if let Some(pools) = statements.shares.as_ref().and_then(|shares| shares.pools.as_ref()) {
            let names = ["a".to_owned()];
            self.add("table of pools", &pools.exists, ());
            self.add("pools", &pools.limits, Pools(&names));
            self.add("enroll pools", &pools.insert, Pools(&names));
            self.add("claim shares of limited pools", &pools.take, self.claiming(self.permits()));
            self.add("refund", &pools.refund, Ids(std::slice::from_ref(&self.lease.id)));
        }
        if let Some(groups) = &statements.groups {
            self.add_groups("the start", groups.scripts(false, false));
            self.add_groups("the cursor", groups.scripts(true, false));
            if groups.limited.is_some() {
                self.add_groups("the start, limited", groups.scripts(false, true));
                self.add_groups("the cursor, limited", groups.scripts(true, true));
            }
        }
        self.add("load", &statements.load, Ids(std::slice::from_ref(&self.lease.id)));
        if let Some(join) = &statements.join {
            self.add("join", join, Ids(std::slice::from_ref(&self.lease.id)));
        }
        for scripts in statements.lists.iter().flatten() {
            self.add("sizes of a list", &scripts.sizes, Ids(std::slice::from_ref(&self.lease.id)));
            self.add("rows of a list", &scripts.rows, Ids(std::slice::from_ref(&self.lease.id)));
        }
    }

    fn add_groups(&mut self, from: &str, scripts: &'s crate::GroupScripts) {
        let plan = SearchPlan { wanted: 5, jumps: 5, fresh: 5, cursor: Some("1".to_owned()), run: 5 };
        let search = GroupSearchParams { plan, permits: self.permits() };
        if let Some(find) = &scripts.find {
            self.add(format!("claim groups from {from} 1"), find, search.clone());
        }
        let (groups, heads) = (vec!["1".to_owned()], vec![self.lease.id.clone()]);
        let take = self.claiming(GroupClaimParams::new(search, 10, groups, heads));
        let place = if scripts.find.is_some() { 2 } else { 1 };
        self.add(format!("claim groups from {from} {place}"), &scripts.take, take);
    }

    fn add_leases(&mut self, statements: &'s Statements) {
        for (transition, settle) in &statements.settle {
            self.add_settle("settle", *transition, settle);
        }
        for (transition, settle) in &statements.late {
            self.add_settle("settle late", *transition, settle);
        }
        let lease = self.lease;
        if let Some(extend) = &statements.extend {
            self.add("extend", extend, Leases(&[lease]));
        }
        if let Some(renewed) = &statements.renewed {
            self.add("leases after a lost extension", renewed, Ids(std::slice::from_ref(&lease.id)));
        }
        if let Some(stamp) = &statements.stamp {
            self.add("stamp", stamp, Limit(10));
        }
        self.add("leases that still hold", &statements.valid_leases, Leases(&[lease]));
    }

    fn add_settle(&mut self, what: &str, transition: Transition, settle: &'s Settle) {
        let mut add = |form: &str, script: &'s SettleRows| {
            let settlement = Settlement { transition, ..Settlement::released(self.lease.clone()) };
            self.add(format!("{what} {transition}, {form}"), script, Settlements(&[&settlement]));
        };
        settle.uniform.iter().for_each(|script| add("uniform", script));
        add("each", &settle.each);
        settle.remembering.iter().for_each(|script| add("remembering", script));
    }

    fn add_maintenance(&mut self, statements: &'s Statements) {
        let ids = Ids(std::slice::from_ref(&self.lease.id));
        if let Some(lost) = &statements.lost_claims {
            self.add("look for rows of a lost claim", &lost.find, ());
            self.add("release rows of a lost claim", &lost.free, ids);
        }
        if let Some(reclaim) = &statements.reclaim {
            self.add("look for expired leases", &reclaim.find, Limit(10));
            self.add("reclaim, free", &reclaim.free, ids);
            self.add("reclaim, spared", &reclaim.spared, ids);
            self.add("reclaim, charged", &reclaim.charged, ids);
            self.add("reclaim, dead", &reclaim.dead, ids);
        }
        if let Some(spent) = &statements.spent {
            self.add("spent", spent, Limit(10));
        }
        for unreadable in &statements.unreadable {
            self.add(format!("look for unreadable {}", unreadable.column), &unreadable.find, Limit(10));
            self.add(format!("end unreadable {}", unreadable.column), &unreadable.end, ids);
        }
        for (index, script) in statements.sweeps.iter().enumerate() {
            self.add(format!("sweep {}", index + 1), script, Limit(10));
        }
        for (index, script) in statements.purge.iter().enumerate() {
            self.add(format!("purge {}", index + 1), script, Limit(10));
        }
        self.add("next due", &statements.next_due, ());
    }

    fn add_inspection(&mut self, statements: &'s Statements) {
        let (ids, inspect) = (Ids(std::slice::from_ref(&self.lease.id)), &statements.inspect);
        self.add("lag", &inspect.lag, ());
        self.add_each("census", &inspect.census, ());
        let changed = Changed { limit: 10, since: Some(60.0) };
        self.add_each("requeue ids", &inspect.requeue_ids, ids);
        self.add_each("requeue state", &inspect.requeue_state, changed);
        self.add_each("cancel ids", &inspect.cancel_ids, ids);
        self.add_each("cancel state", &inspect.cancel_state, changed);
        self.add_each("release ids", &inspect.release_ids, ids);
        self.add_each("release state", &inspect.release_state, changed);
        self.add_each("complete ids", &inspect.complete_ids, ids);
    }

    #[expect(clippy::needless_pass_by_value, reason = "callers make them for the call")]
    fn add_each<P: Params, S: TypedScript<P>>(&mut self, title: &str, scripts: &'s [(String, S)], params: P) {
        for (state, script) in scripts {
            self.add(format!("{title} {state}"), script, params.clone());
        }
    }

    fn add_handoff(&mut self, statements: &'s Statements) {
        let Some(handoff) = &statements.handoff else { return };
        let ids = Ids(std::slice::from_ref(&self.lease.id));
        self.add("claim by key", &handoff.claim, self.claiming(ids));
        self.add("standing", &handoff.unclaimed_reasons, ids);
        for (index, script) in handoff.due.iter().enumerate() {
            self.add(format!("offer {}", index + 1), script, Limit(10));
        }
        for (index, script) in handoff.recall.iter().enumerate() {
            self.add(format!("recall {}", index + 1), script, ids);
        }
    }
}
