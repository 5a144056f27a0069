//! The indexes that the verbs need, on exactly the expressions and conditions that their statements use.

use std::collections::BTreeSet;

use postrider_contract::{ClaimedState, ColumnRole, Condition, Contract, StateId, Sweep, When};

use super::index::{Index, Needed, index_key};
use crate::groups::order::{live_mark, ordered_mark};
use crate::render::condition::Lookup;
use crate::render::table::Table;
use crate::{Dialect, Error, Shape};

/// Returns every index that the contract's stages need, without duplicates.
pub(crate) fn needed(contract: &Contract, dialect: Dialect, shape: &Shape) -> Result<Vec<Needed>, Error> {
    let present: BTreeSet<String> = shape.columns.iter().map(|column| column.name.clone()).collect();
    let resolved = contract.resolve(&present).map_err(|missing| Error::MissingColumns {
        table: contract.table.name.clone(),
        columns: missing
            .into_iter()
            .map(|missing| missing.column)
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect(),
    })?;
    let mut needed: Vec<Needed> = Vec::new();
    for stage in &resolved.stages {
        let table = Table::new(&resolved, stage, dialect, shape)?;
        let mut add = |new: Option<Needed>| {
            let Some(new) = new else { return };
            let body = |create: &str| create.split_once(" ON ").map(|(_, body)| body.to_owned());
            if !needed.iter().any(|known| body(&known.create) == body(&new.create)) {
                needed.push(new);
            }
        };
        table.claim_indexes().into_iter().for_each(|index| add(Some(index)));
        table.share_indexes().into_iter().for_each(|index| add(Some(index)));
        table.group_indexes().into_iter().for_each(|index| add(Some(index)));
        table.queue_indexes().into_iter().for_each(|index| add(Some(index)));
        add(table.lease_index());
        table.sweep_indexes().into_iter().for_each(|index| add(Some(index)));
        table.purge_indexes().into_iter().for_each(|index| add(Some(index)));
        add(table.states_index());
        table.count_indexes().into_iter().for_each(|index| add(Some(index)));
    }
    // An index whose columns start with those of another replaces it.
    let indexes: Vec<Index> = needed.iter().map(|needed| needed.index.clone()).collect();
    needed.retain(|one| {
        !indexes.iter().any(|other| other.columns.len() > one.index.columns.len() && other.serves(&one.index))
    });
    Ok(needed)
}

impl Table<'_> {
    /// The claim's index. In a table with ordered groups, `ready` has the rows that keep no order in the order of claims,
    /// and the others by the time at which they became due; without such a time, `free` has only the former.
    fn claim_indexes(&self) -> Vec<Needed> {
        let order = self.claim_order();
        let mark = if self.dialect == Dialect::Mysql { live_mark } else { ordered_mark };
        let what = self.group().map_or_else(|| "claim".to_owned(), |group| format!("free{}", mark(group)));
        if self.dialect == Dialect::Mysql {
            let mut order = self.mysql_order();
            let kind = self.kind_column();
            let what = if kind.is_some() { what.replacen("free", "ready", 1) } else { what };
            order.splice(0..0, kind.map(|kind| (kind, false)));
            return self.mysql_ready_indexes(&what, &order);
        }
        if self.shares_have_order() {
            return Vec::new();
        }
        if let Some(index) = self.common_claim_index() {
            return vec![index];
        }
        if let (Some(key), Some(group)) = (self.freshness_key(), self.group()) {
            let order = order.iter().map(|(key, direction)| format!("{}{direction}", index_key(key)));
            let keys: Vec<String> = std::iter::once(index_key(&key.expression)).chain(order).collect();
            let name = format!("{}_ready{}", self.stage.name, ordered_mark(group));
            return vec![self.partial_index(&name, &keys, &self.is_waiting())];
        }
        let name = format!("{}_{what}", self.stage.name);
        let keys: Vec<String> =
            order.iter().map(|(key, direction)| format!("{}{direction}", index_key(key))).collect();
        let mut condition = vec![self.in_states(&self.stage.ready, Lookup::Index)];
        condition.extend(self.filter());
        condition.extend(self.group().map(|group| self.is_free(group)));
        vec![self.partial_index(&name, &keys, &condition.join(" AND "))]
    }

    fn mysql_order(&self) -> Vec<(String, bool)> {
        let order = self.contract.claim.order.iter();
        let column = |order: &postrider_contract::ClaimOrder| {
            self.contract.order_column(order).map(|name| (name.to_owned(), order.descending))
        };
        order.filter_map(column).collect()
    }

    /// One index for each ready state.
    fn mysql_ready_indexes(&self, what: &str, order: &[(String, bool)]) -> Vec<Needed> {
        let states = self.stage.ready.iter().enumerate();
        states
            .map(|(index, state)| {
                let number = if index == 0 { String::new() } else { (index + 1).to_string() };
                self.mysql_index(&format!("{}_{what}{number}", self.stage.name), *state, order)
            })
            .collect()
    }

    /// `order`: the group cursor and the runs. `fresh`: new arrivals, and retries that just became due, if `ready` does
    /// not have them. `in_flight`, on MySQL: the rows in flight, by group, pool and the end of their lease.
    fn group_indexes(&self) -> Vec<Needed> {
        let Some(group) = self.group() else { return Vec::new() };
        let (live, ordered) = (live_mark(group), ordered_mark(group));
        let named = |what: &str, mark: &str| format!("{}_{what}{mark}", self.stage.name);
        if self.dialect == Dialect::Mysql {
            let group_column = (self.live_column(), false);
            let id = &self.contract.table.id;
            let sequence = group.sequence.iter().filter(|column| *column != id).chain([id]);
            let mut order = vec![group_column.clone()];
            order.extend(sequence.map(|column| (column.clone(), false)));
            let mut needed = vec![self.mysql_columns_index(&named("order", &live), order)];
            if let ClaimedState::State(state) = self.stage.claimed {
                let pool = self.contract.column(ColumnRole::Pool).filter(|_| self.contract.pool.is_some());
                let horizon = self.is_expired().and_then(|_| self.horizon());
                let others = pool.into_iter().chain(horizon).map(|column| (column.to_owned(), false));
                let keys: Vec<(String, bool)> = std::iter::once(group_column).chain(others).collect();
                needed.push(self.mysql_index(&named("in_flight", &live), state, &keys));
            }
            return needed;
        }
        let by = self.quote(&group.by);
        let mut keys = vec![by];
        keys.extend(self.group_order(group).iter().map(|key| match key.strip_suffix(" NULLS FIRST") {
            Some(key) => format!("{} NULLS FIRST", index_key(key)),
            None => index_key(key),
        }));
        let mut needed = vec![self.partial_index(&named("order", &live), &keys, &self.is_live(group))];
        if self.freshness_key().is_some() {
            return needed;
        }
        let (fresh, _) = self.freshness();
        let mut condition = vec![self.in_states(&self.stage.ready, Lookup::Index)];
        condition.extend(self.filter());
        condition.push(self.is_ordered(group));
        let mut keys = vec![index_key(&fresh), self.quote(&self.contract.table.id)];
        keys.dedup();
        needed.push(self.partial_index(&named("fresh", &ordered), &keys, &condition.join(" AND ")));
        needed
    }

    /// `share`, or `ready` if it also has ordered rows: the shares, and the rows of each in the order of claims. `held`,
    /// on MySQL without groups: the rows in flight, by pool and the end of their lease.
    fn share_indexes(&self) -> Vec<Needed> {
        if !self.contract.limits_claims() {
            return Vec::new();
        }
        let named = |what: &str| format!("{}_{what}", self.stage.name);
        let pool = self.contract.column(ColumnRole::Pool).filter(|_| self.contract.pool.is_some());
        if self.dialect == Dialect::Mysql {
            let mut order = vec![(self.share_column(), false)];
            order.extend(self.mysql_order());
            let mut needed = vec![self.mysql_columns_index(&named("share"), order)];
            let pool = pool.filter(|_| self.group().is_none());
            if let (ClaimedState::State(state), Some(pool)) = (self.stage.claimed, pool) {
                let horizon = self.is_expired().and_then(|_| self.horizon());
                let keys = std::iter::once(pool).chain(horizon).map(|column| (column.to_owned(), false));
                needed.push(self.mysql_index(&named("held"), state, &keys.collect::<Vec<_>>()));
            }
            return needed;
        }
        let mark = self.group().map(ordered_mark).unwrap_or_default();
        let what = if self.freshness_key().is_some() { "ready" } else { "share" };
        vec![self.partial_index(&named(&format!("{what}{mark}")), &self.share_keys(), &self.is_waiting())]
    }

    /// In a table with several stages, one index by status and age serves the claims of every stage whose ready state is
    /// a status alone.
    ///
    /// Usually it serves the leases of all stages too. On PostgreSQL an index of the application may do that: the
    /// specification of `emails` demands one, and this one then has only ready rows.
    fn common_claim_index(&self) -> Option<Needed> {
        self.common_ready_state()?;
        let status = self.contract.column(ColumnRole::Status)?;
        let order = self.claim_order().into_iter().map(|(key, _)| key);
        let keys: Vec<String> = std::iter::once(self.quote(status)).chain(order).collect();
        if self.common_lease_columns().is_none() {
            return Some(self.keys_index("claim", &keys));
        }
        let stages = self.contract.stages.iter().filter_map(|stage| self.of_stage(stage));
        let ready: Vec<StateId> = stages.filter_map(|table| table.common_ready_state()).collect();
        let keys: Vec<String> = keys.iter().map(|key| index_key(key)).collect();
        Some(self.partial_index("ready", &keys, &self.in_states(&ready, Lookup::Index)))
    }

    /// The ready state of a stage that shares its index of claims with other stages.
    fn common_ready_state(&self) -> Option<StateId> {
        let [ready] = self.stage.ready.as_slice() else { return None };
        let [(_, Condition::Is(_))] = self.contract.state(*ready).conditions.as_slice() else { return None };
        let several = self.contract.stages.len() > 1 && self.contract.claim.filter.is_empty();
        let plain = self.group().is_none() && !self.contract.limits_claims();
        let ascending = self.claim_order().iter().all(|(_, direction)| direction.is_empty());
        (several && plain && ascending).then_some(*ready)
    }

    /// The status and the column of the lease, if an index of them can be one of the application's.
    fn common_lease_columns(&self) -> Option<[String; 2]> {
        let horizon = self.horizon().filter(|_| self.dialect == Dialect::Postgres)?;
        let is_plain = self.instant(horizon) == self.col(horizon);
        let status = self.contract.column(ColumnRole::Status)?;
        (is_plain && self.has_common_lease_index(horizon)).then(|| [status.to_owned(), horizon.to_owned()])
    }

    /// Whether claims are ordered by the end of leases, and some stages share an index of them.
    fn has_common_lease_index(&self, horizon: &str) -> bool {
        let mut stages = self.contract.stages.iter().filter_map(|stage| self.of_stage(stage));
        stages.any(|table| table.common_ready_state().is_some())
            && self.claim_order().first().is_some_and(|(key, _)| *key == self.instant(horizon))
    }

    fn lease_index(&self) -> Option<Needed> {
        self.is_expired()?;
        let (ClaimedState::State(state), Some(horizon)) = (self.stage.claimed, self.horizon()) else {
            return None;
        };
        let pools = self.contract.pool.is_some() && self.contract.column(ColumnRole::Pool).is_some();
        let held = self.dialect == Dialect::Mysql && (pools || self.group().is_some());
        if held || self.has_held_index() {
            return None;
        }
        if self.dialect != Dialect::Mysql && self.has_common_lease_index(horizon) {
            return self.common_lease_columns().map(|columns| self.columns_index("lease", &columns));
        }
        let name = format!("{}_lease", self.stage.name);
        Some(self.timed_index(&name, state, horizon))
    }

    /// The ready rows that a queue can carry. `offer`: those not on the queue, by due time. `queued`: those on it, by
    /// publishing time. On MySQL one index serves both.
    fn queue_indexes(&self) -> Vec<Needed> {
        let Some(handoff) = self.contract.queue_of(self.stage) else { return Vec::new() };
        let states = self.stage.ready.iter().enumerate();
        let indexes = states.flat_map(|(index, state)| {
            let number = if index == 0 { String::new() } else { (index + 1).to_string() };
            let named = |what: &str| format!("{}_{what}{number}", self.stage.name);
            if self.dialect == Dialect::Mysql {
                return vec![self.mysql_index(
                    &named("offer"),
                    *state,
                    &self.mysql_offers(handoff.published_at),
                )];
            }
            let carried = |mark: String, lookup: Lookup| {
                let mut condition = vec![self.in_state(*state, lookup), mark];
                condition.extend(self.is_carried());
                condition.join(" AND ")
            };
            let absent = carried(format!("{} IS NULL", self.col(handoff.published_at)), Lookup::Index);
            let due =
                self.due_key().map_or_else(|| self.quote(&self.contract.table.id), |key| index_key(&key));
            let marked = index_key(&self.instant(handoff.published_at));
            let lost = carried(self.is_set(handoff.published_at), self.lost_lookup());
            vec![
                self.partial_index(&named("offer"), &[due], &absent),
                self.partial_index(&named("queued"), &[marked], &lost),
            ]
        });
        indexes.collect()
    }

    /// The columns that decide whether a queue can carry the row, then the mark, then the due time.
    fn mysql_offers(&self, mark: &str) -> Vec<(String, bool)> {
        let group = self.group().map(|_| self.live_column());
        let pool = self.contract.column(ColumnRole::Pool).filter(|_| self.contract.pool.is_some());
        let due = self.contract.column(ColumnRole::Due);
        let columns = group.into_iter().chain(pool.map(str::to_owned));
        let columns = columns.chain([mark.to_owned()]).chain(due.map(str::to_owned));
        columns.map(|column| (column, false)).collect()
    }

    /// Rows with a time at which they are swept or handed to a queue, by that time, so that a sweep reads no other
    /// rows.
    fn sweep_indexes(&self) -> Vec<Needed> {
        let timed = self.contract.sweeps.iter().filter_map(|sweep| match &sweep.when {
            When::At { column } | When::Before { column } if self.scheduled_rule(column).is_some() => {
                sweep.publish.then(|| (sweep, column, format!("sweep_on_{column}")))
            }
            When::At { column } => Some((sweep, column, format!("sweep_{column}"))),
            // On MySQL the index of rows to publish at that time has every state.
            When::Before { column } if self.dialect == Dialect::Mysql && self.is_published_at(column) => None,
            When::Before { column } => Some((sweep, column, format!("sweep_before_{column}"))),
            When::Always | When::OlderThan { .. } => None,
        });
        let index = |(sweep, column, name): (&Sweep, &String, String)| {
            let scheduled = self.scheduled_rule(column);
            let status = self.contract.column(ColumnRole::Status).filter(|_| scheduled.is_some());
            let from = self.in_states(&sweep.from, Lookup::Index);
            let mut condition = vec![scheduled.unwrap_or(from)];
            condition.extend(self.filter());
            match (self.dialect, sweep.publish) {
                (Dialect::Mysql, true) => self.mysql_index(&name, sweep.from[0], &[(column.clone(), false)]),
                (Dialect::Mysql, false) => self.columns_index(&name, std::slice::from_ref(column)),
                (Dialect::Postgres | Dialect::Sqlite, true) => {
                    let status = status.map(|status| self.quote(status));
                    let key = index_key(&self.publishing_key(column));
                    let keys: Vec<String> = status.into_iter().chain([key]).collect();
                    self.partial_index(&name, &keys, &condition.join(" AND "))
                }
                (Dialect::Postgres | Dialect::Sqlite, false) => {
                    condition.push(self.is_set(column));
                    self.partial_index(&name, &[index_key(&self.instant(column))], &condition.join(" AND "))
                }
            }
        };
        timed.map(index).collect()
    }

    fn is_published_at(&self, time: &str) -> bool {
        let at =
            |sweep: &Sweep| matches!(&sweep.when, When::At { column } if sweep.publish && column == time);
        self.contract.sweeps.iter().any(at)
    }

    fn purge_indexes(&self) -> Vec<Needed> {
        let rules = self.contract.retention.iter().filter(|rule| !rule.since.is_empty());
        let index = |rule: &postrider_contract::Retention| {
            let name = format!("{}_purge", self.contract.state(rule.state).name.to_lowercase());
            match self.purge_age(rule) {
                Some(age) if self.dialect != Dialect::Mysql => {
                    let condition = self.in_state(rule.state, Lookup::Index);
                    self.partial_index(&name, &[index_key(&age)], &condition)
                }
                _ => self.timed_index(&name, rule.state, &rule.since[0]),
            }
        };
        rules.map(index).collect()
    }

    /// The rows of rare states by state and key, the rows in flight by group, pool and the end of their lease, the rows
    /// that wait for another attempt, and those without attempts left: for claims of groups, limits of pools, an
    /// operator's counts and pages, and the sweeps of these states. A row that is delivered at its first attempt enters
    /// it at most once, while it is in flight.
    fn states_index(&self) -> Option<Needed> {
        let label = self.label()?;
        let mut keys = vec![index_key(&label), index_key(&self.key_by_state())];
        if self.held_state().is_some() {
            let group = self.group().map(|group| self.quote(&group.by));
            let pool = self.contract.column(ColumnRole::Pool).filter(|_| self.contract.pool.is_some());
            let horizon = self.is_expired().and_then(|_| self.horizon()).map(|column| self.instant(column));
            keys.extend(group.into_iter().chain(pool.map(|pool| self.quote(pool))));
            keys.extend(horizon.map(|horizon| index_key(&horizon)));
        }
        let name = format!("states{}", self.states_mark());
        Some(self.partial_index(&name, &keys, &format!("{label} IS NOT NULL")))
    }

    /// Tallies count other rows for every row of a claim: without an index each count would read the whole table. Rows
    /// in states that are not counted stay out of it.
    fn count_indexes(&self) -> Vec<Needed> {
        let counts = self.contract.counts.iter().enumerate();
        let index = |(at, count): (usize, &postrider_contract::CountField)| {
            let number = if at == 0 { String::new() } else { (at + 1).to_string() };
            match self.counted_rule() {
                Some(rule) => {
                    let keys: Vec<String> = count.same.iter().map(|column| self.quote(column)).collect();
                    self.partial_index(&format!("counted{number}"), &keys, &rule)
                }
                None => self.columns_index(&format!("same{number}"), &count.same),
            }
        };
        let begins = |one: &[String], other: &[String]| other.len() > one.len() && other.starts_with(one);
        let is_longest = |count: &postrider_contract::CountField| {
            !self.contract.counts.iter().any(|other| begins(&count.same, &other.same))
        };
        counts.filter(|(_, count)| is_longest(count)).map(index).collect()
    }
}
