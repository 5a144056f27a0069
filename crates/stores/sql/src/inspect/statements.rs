//! Renders the statements of operators, and the lag of a lane. Every result is limited in size.

use postrider_contract::{ClaimedState, ColumnRole, GroupRule, OperatorMove, StateId, Transition};
use postrider_seams::inspect::{Lag, OperatorAction};
use postrider_seams::row::{RowId, Value};

use crate::driver::execute::Arg;
use crate::inspect::census::CountRows;
use crate::pools::walk::ShareKind;
use crate::render::condition::Lookup;
use crate::render::moves::{MoveNamed, Pick};
use crate::render::table::Table;
use crate::typed::{Bound, Columns, Params, typed_script};
use crate::{Dialect, Param, Script};

/// The scripts of operators: moves by name of the from-state, counts by name of the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InspectScripts {
    pub census: Vec<(String, CountRows)>,
    pub requeue_ids: Vec<(String, MoveNamed)>,
    pub requeue_state: Vec<(String, MoveChanged)>,
    pub cancel_ids: Vec<(String, MoveNamed)>,
    pub cancel_state: Vec<(String, MoveChanged)>,
    /// Returns claimed rows without charging an attempt.
    pub release_ids: Vec<(String, MoveNamed)>,
    pub release_state: Vec<(String, MoveChanged)>,
    /// Marks a row as done because an operator vouches for it.
    pub complete_ids: Vec<(String, MoveNamed)>,
    pub lag: MeasureLag,
}

typed_script! {
    /// Moves rows that changed lately, and yields their keys.
    pub MoveChanged(Changed) -> RowId, Write, |_, mut row| row.key()
}

typed_script! {
    /// Yields the seconds since the oldest due row became due, and since the oldest claim.
    pub MeasureLag(()) -> Lag, Read, |_, mut row| {
        Some(Lag { oldest_due_seconds: seconds(&mut row), oldest_claim_seconds: seconds(&mut row) })
    }
}

/// Rows up to a limit that changed within the last `since` seconds; without `since` all.
#[derive(Debug, Clone, Copy)]
pub struct Changed {
    pub limit: u32,
    pub since: Option<f64>,
}

impl Params for Changed {
    fn value(&self, param: &Param, _: Dialect) -> Option<Bound<'_>> {
        match param {
            Param::Limit => Some(Bound::int(self.limit)),
            Param::Since => Some(Bound::One(Arg::Float(self.since))),
            _ => None,
        }
    }
}

fn seconds(row: &mut Columns) -> Option<f64> {
    match row.value() {
        Value::Float(seconds) => Some(seconds),
        #[expect(clippy::cast_precision_loss, reason = "a lag past 2^52 s is not one")]
        Value::Int(seconds) => Some(seconds as f64),
        Value::Text(seconds) => seconds.parse().ok(),
        Value::Null | Value::Bool(_) | Value::Bytes(_) => None,
    }
}

impl Table<'_> {
    /// Returns the scripts of operators' verbs, counts and lag.
    pub fn inspect(&self) -> InspectScripts {
        let contract = self.contract;
        let release = OperatorAction::Release.moves(contract, self.stage);
        let release = (!release.is_empty()).then_some(OperatorMove { moves: release });
        let requeue = contract.requeue.as_ref();
        let cancel = contract.cancel.as_ref();
        InspectScripts {
            census: self.census(),
            requeue_ids: self.operator_by_ids(requeue, Transition::Requeued),
            requeue_state: self.operator_by_state(requeue, Transition::Requeued),
            cancel_ids: self.operator_by_ids(cancel, Transition::Cancelled),
            cancel_state: self.operator_by_state(cancel, Transition::Cancelled),
            release_ids: self.operator_by_ids(release.as_ref(), Transition::Released),
            release_state: self.operator_by_state(release.as_ref(), Transition::Released),
            complete_ids: self.operator_by_ids(contract.complete.as_ref(), Transition::Completed),
            lag: MeasureLag { script: self.lag() },
        }
    }

    /// Returns an operator's moves by name of the from-state, for keys that the operator names.
    pub fn operator_by_ids(
        &self,
        rule: Option<&OperatorMove>,
        transition: Transition,
    ) -> Vec<(String, MoveNamed)> {
        let pick = |_| Pick::Named { conditions: Vec::new() };
        self.operator(rule, transition, pick, |script| MoveNamed { script })
    }

    /// Returns the same for all rows of a state, up to a limit, that changed within `Since` seconds.
    pub fn operator_by_state(
        &self,
        rule: Option<&OperatorMove>,
        transition: Transition,
    ) -> Vec<(String, MoveChanged)> {
        let changed =
            [ColumnRole::Updated, ColumnRole::Attempted, ColumnRole::ClaimedAt, ColumnRole::Created];
        let columns = changed.into_iter().filter_map(|role| self.contract.column(role));
        let since: Vec<String> = columns.map(str::to_owned).collect();
        let pick = |from| Pick::Some {
            conditions: self.finding_conditions(from),
            order: None,
            since: Vec::clone(&since),
            lookup: Lookup::Index,
        };
        self.operator(rule, transition, pick, |script| MoveChanged { script })
    }

    fn operator<S>(
        &self,
        rule: Option<&OperatorMove>,
        transition: Transition,
        pick: impl Fn(StateId) -> Pick,
        typed: impl Fn(Script) -> S,
    ) -> Vec<(String, S)> {
        let moves = rule.map_or(&[] as &[_], |rule| rule.moves.as_slice());
        // A move from a state to itself: only this stage's counter shows which rows are meant.
        let known = |(from, to): &&(StateId, StateId)| from != to || self.stage.ready.contains(from);
        moves
            .iter()
            .filter(known)
            .map(|pair| {
                let step = self.contract.operator_move(self.stage, transition, pair);
                let script = self.picked(step, &[transition], None, &pick(pair.0));
                (self.contract.state(pair.0).name.clone(), typed(script))
            })
            .collect()
    }

    /// Seconds since the oldest due row became due, and since the oldest claim.
    fn lag(&self) -> Script {
        let seconds = |micros: String| match self.dialect {
            Dialect::Postgres => format!("({micros})::float8 / 1000000"),
            Dialect::Mysql => format!("CAST({micros} AS DOUBLE) / 1000000"),
            Dialect::Sqlite => format!("({micros}) / 1000000.0"),
        };
        let oldest = |conditions: Vec<String>, micros: String, order: String| {
            format!(
                "(SELECT {} FROM {} AS t WHERE {} ORDER BY {order} LIMIT 1)",
                seconds(micros),
                self.name(),
                conditions.join(" AND ")
            )
        };
        // The row that is claimed next; the claim's own index finds it.
        let next = |more: Vec<String>, order: String| {
            let mut conditions = self.claimable(&self.stage.ready);
            conditions.extend(more);
            oldest(conditions, self.waited_since(|_| true), order)
        };
        let first = self.claim_order().first().map(|(key, direction)| format!("{key}{direction}"));
        // The first rows of all shares, each found by the claim's own index.
        let of_shares = |kind: ShareKind, more: Vec<String>, order: String| {
            let mut conditions = self.claimable(&self.stage.ready);
            conditions.extend(more);
            let waited = self.waited_since(|_| true);
            format!(
                "(SELECT {} FROM ({}) AS d)",
                seconds("max(d.w)".to_owned()),
                self.first_of_shares(kind, &waited, &conditions, &order)
            )
        };
        let first_of = |kind: ShareKind, more: Vec<String>, order: String| {
            let by_share = match kind {
                ShareKind::Free => self.shares_have_order(),
                ShareKind::Ordered => self.shares_have_freshness(),
            };
            if by_share { of_shares(kind, more, order) } else { next(more, order) }
        };
        let of_groups = |group: &GroupRule, order: &str| {
            if self.dialect == Dialect::Mysql {
                return (vec![self.ordered_condition(group)], order.to_owned());
            }
            let key = self.freshness_key().map_or_else(|| self.freshness().0, |key| key.expression);
            (vec![self.ordered_condition(group)], key)
        };
        let apart = self.dialect != Dialect::Mysql || self.kind_column().is_some();
        let due = match (first, self.group().filter(|_| apart)) {
            (None, _) => null(),
            (Some(order), None) => first_of(ShareKind::Free, Vec::new(), order),
            // Two kinds of rows, each in an order of its own.
            (Some(order), Some(group)) => {
                let (ordered, fresh) = of_groups(group, &order);
                format!(
                    "(SELECT max(l.w) FROM (SELECT {} AS w UNION ALL SELECT {}) AS l)",
                    first_of(ShareKind::Free, self.free_conditions(), order),
                    first_of(ShareKind::Ordered, ordered, fresh)
                )
            }
        };
        let claimed = match (self.stage.claimed, self.contract.column(ColumnRole::ClaimedAt)) {
            (ClaimedState::State(state), Some(column)) => {
                let held = self.held_condition().into_iter().chain([self.ours(state)]);
                oldest(held.collect(), self.micros_since(column), self.instant(column))
            }
            _ => null(),
        };
        let (due, claimed) = match self.dialect {
            Dialect::Postgres => (format!("({due})::float8"), format!("({claimed})::float8")),
            Dialect::Mysql | Dialect::Sqlite => (due, claimed),
        };
        self.one(&format!("SELECT {due},\n  {claimed}"))
    }
}

fn null() -> String {
    "NULL".to_owned()
}
