//! Renders claim, load and join: the statements that claim rows in the contract's order, and read what a composer
//! needs.

use std::sync::Arc;

use postrider_contract::{StateId, Transition};
use postrider_seams::row::{ClaimedRow, Fields, RowId, Value};

use crate::bind::{Ids, Limit, in_order};
use crate::claim::columns::Seen;
use crate::claim::params::Claiming;
use crate::claim::row::{ClaimReader, read_fields};
use crate::driver::Access;
use crate::render::step_builder::{Source, StepBuilder};
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::typed::{Columns, TypedScript, typed_script};
use crate::{Dialect, Param, Script, Step, Yields};

/// Claims rows that keep no order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimRows {
    pub script: Script,
    pub reader: ClaimReader,
    /// A stage with a lock of its own claims without a write.
    access: Access,
}

impl TypedScript<Claiming<Limit>> for ClaimRows {
    type Row = ClaimedRow;

    fn script(&self) -> &Script {
        &self.script
    }

    fn access(&self) -> Access {
        self.access
    }

    fn read(&self, row: Columns) -> Option<ClaimedRow> {
        self.reader.read(row)
    }

    fn sort(&self, rows: &mut [ClaimedRow], order: &[RowId]) {
        in_order(rows, order);
    }
}

typed_script! {
    /// Yields the message fields of the named rows.
    pub LoadFields { names: Arc<[String]> } (Ids<'_>) -> (RowId, Fields), Read, |this, mut row| {
        Some((row.key()?, read_fields(&this.names, row)))
    }
}

typed_script! {
    /// Yields the joined values of the named rows; they are NULL if the joined row does not exist.
    pub LoadJoined { columns: usize } (Ids<'_>) -> (RowId, Vec<Value>), Read, |this, mut row| {
        Some((row.key()?, row.values(this.columns).collect()))
    }
}

pub(crate) const NO_REASON: Source = Source::Contract { reason: None };

impl Table<'_> {
    /// Returns the scripts of a claim: on MySQL one per ready state, otherwise one.
    pub fn claim(&self) -> Vec<ClaimRows> {
        let writes = Writes::of(self.contract, self.contract.lease_move(self.stage, Transition::Claimed));
        let ready = &self.stage.ready;
        if writes.assignments.is_empty() {
            let script = Script { steps: vec![self.read_only_claim(ready, &writes)] };
            return vec![ClaimRows { script, reader: self.claim_reader(ready), access: Access::Read }];
        }
        // With two ready states in one predicate, MySQL sorts (filesort) and so locks the whole backlog.
        let each = if self.dialect == Dialect::Mysql { 1 } else { ready.len().max(1) };
        let claim = |states| {
            let script = match self.dialect {
                Dialect::Postgres => Script { steps: vec![self.postgres_claim(states, &writes)] },
                Dialect::Mysql => self.mysql_claim(states, &writes),
                Dialect::Sqlite => self.sqlite_claim(states, &writes),
            };
            ClaimRows { script, reader: self.claim_reader(states), access: Access::Write }
        };
        ready.chunks(each).map(claim).collect()
    }

    /// Returns how rows are read that a claim takes from these states.
    pub fn claim_reader(&self, states: &[StateId]) -> ClaimReader {
        let from = if let [only] = states { Some(*only) } else { None };
        ClaimReader { layout: self.layout(), from }
    }

    /// Returns the order of claims as the list of an `ORDER BY`.
    pub fn order_list(&self) -> String {
        let order: Vec<String> =
            self.claim_order().into_iter().map(|(key, direction)| format!("{key}{direction}")).collect();
        order.join(", ")
    }

    /// `FROM … WHERE … ORDER BY … LIMIT …`.
    fn pick(&self, builder: &StepBuilder<'_>, states: &[StateId]) -> String {
        let mut conditions = self.claimable(states);
        // Rows of ordered groups have their own claim.
        conditions.extend(self.free_conditions());
        let conditions = conditions.join("\n  AND ");
        let limit = builder.bind(Param::Limit);
        format!(
            "FROM {} AS t\nWHERE {conditions}\nORDER BY {}\nLIMIT {limit}",
            self.name(),
            self.order_list()
        )
    }

    /// For a store that holds a lock of its own and writes nothing on claim: the rows are only read.
    fn read_only_claim(&self, ready: &[StateId], writes: &Writes<'_>) -> Step {
        let builder = StepBuilder::plain(self);
        let columns = builder.layout_columns(writes, Seen::After).join(", ");
        let pick = self.pick(&builder, ready);
        builder.finish(&format!("SELECT {columns}\n{pick}"), Yields::Rows)
    }

    fn postgres_claim(&self, ready: &[StateId], writes: &Writes<'_>) -> Step {
        let builder = StepBuilder::plain(self);
        let order = self.claim_order();
        // If the claim overwrites a column that it sorts by, the pick keeps the old value.
        let roles = self.contract.claim.order.iter().filter_map(|order| self.contract.order_column(order));
        let overwritten = roles.into_iter().any(|column| writes.set_of(column).is_some());
        let mut picked = vec![format!("{} AS k", self.id())];
        if overwritten {
            picked.extend(order.iter().enumerate().map(|(index, (key, _))| format!("{key} AS o{index}")));
        }
        let pick = self.pick(&builder, ready);
        let pick = format!("SELECT {}\n{pick}\nFOR UPDATE SKIP LOCKED", picked.join(", "));
        self.postgres_moved(builder, &pick, overwritten, writes)
    }

    /// Marks the rows whose keys `pick` yields as `k`, and returns them in the order of claims: by the `o0`, `o1` … of
    /// the pick if it has them.
    pub fn postgres_moved(
        &self,
        builder: StepBuilder<'_>,
        pick: &str,
        sorted_by_pick: bool,
        writes: &Writes<'_>,
    ) -> Step {
        let (mut sorted, mut from) = (self.order_list(), "moved AS t".to_owned());
        if sorted_by_pick {
            let order = self.claim_order();
            let keys =
                order.iter().enumerate().map(|(index, (_, direction))| format!("p.o{index}{direction}"));
            sorted = keys.collect::<Vec<_>>().join(", ");
            from = format!("moved AS t JOIN pick AS p ON p.k = {}", self.id());
        }
        let sets = builder.set_list(writes);
        let effects = builder.effect_parts(&[Transition::Claimed], writes);
        let columns = builder.layout_columns(writes, Seen::After).join(", ");
        let returned = self.columns_read_by(&[&columns, &from, &sorted, &effects]);
        let text = format!(
            "WITH pick AS MATERIALIZED (\n{pick}),\nmoved AS (\nUPDATE {} AS t SET {sets}\nWHERE {} = ANY \
             (ARRAY(SELECT k FROM pick))\nRETURNING {returned}){effects}\nSELECT {columns}\nFROM {from}{}\nORDER BY {sorted}",
            self.name(),
            self.id(),
            self.unflushed_claim("\nWHERE "),
        );
        builder.finish(&text, Yields::Rows)
    }

    /// PostgreSQL: a condition, always true, by which the commit of a claim does not wait for the disk. Nothing is sent
    /// before the mark of begun rows, whose commit flushes the claim too; a claim that a crash of the server loses leaves
    /// rows that are ready, and their mark fails. Without the table of marks a claim is flushed itself.
    pub fn unflushed_claim(&self, before: &str) -> String {
        if !self.shape.marks {
            return String::new();
        }
        format!("{before}(SELECT set_config('synchronous_commit', 'off', true)) IS NOT NULL")
    }

    /// Renders the claim of rows of the given shares.
    pub fn postgres_share_take(&self, writes: &Writes<'_>) -> Step {
        let builder = StepBuilder::plain(self);
        let pick = self.ranked_pick(&builder, "");
        self.postgres_moved(builder, &pick, true, writes)
    }

    fn mysql_claim(&self, states: &[StateId], writes: &Writes<'_>) -> Script {
        let builder = StepBuilder::plain(self);
        let columns = builder.layout_columns(writes, Seen::Before).join(", ");
        let pick = self.pick(&builder, states);
        let first =
            builder.finish(&format!("SELECT {columns}\n{pick}\nFOR UPDATE SKIP LOCKED"), Yields::Rows);
        let mut steps = vec![first];
        steps.extend(self.mysql_mark(writes));
        Script { steps }
    }

    /// Marks the rows that the previous step locked, all with one claim time.
    pub fn mysql_mark(&self, writes: &Writes<'_>) -> Vec<Step> {
        let builder = StepBuilder::plain(self);
        builder.claims_with_bound_time.set(true);
        let sets = builder.set_list(writes);
        let among = builder.among(&self.id(), Param::Held);
        let text = format!("UPDATE {} AS t SET {sets}\nWHERE {among}", self.name());
        let mut steps = vec![builder.finish(&text, Yields::Nothing)];
        steps.extend(self.effect_steps(&[Transition::Claimed], writes, &NO_REASON));
        steps
    }

    /// Selects the keys first, in order, because an UPDATE returns its rows in any order.
    fn sqlite_claim(&self, ready: &[StateId], writes: &Writes<'_>) -> Script {
        let builder = StepBuilder::plain(self);
        let pick = self.pick(&builder, ready);
        let mut steps = vec![builder.finish(&format!("SELECT {}\n{pick}", self.key()), Yields::Keys)];
        steps.extend(self.sqlite_mark(writes));
        Script { steps }
    }

    /// Marks the rows whose keys the previous step yielded.
    pub fn sqlite_mark(&self, writes: &Writes<'_>) -> Vec<Step> {
        let builder = StepBuilder::plain(self);
        let sets = builder.set_list(writes);
        let among = builder.among(&self.id(), Param::Held);
        let columns = builder.layout_columns(writes, Seen::After).join(", ");
        let text = format!(
            "UPDATE {} AS t SET {sets}\nWHERE {among}\nRETURNING {}",
            self.name(),
            returning(&columns)
        );
        let mut steps = vec![builder.finish(&text, Yields::Rows)];
        steps.extend(self.effect_steps(&[Transition::Claimed], writes, &NO_REASON));
        steps
    }

    /// Returns the script that loads the message columns of the given rows.
    pub fn load(&self) -> LoadFields {
        let builder = StepBuilder::plain(self);
        let fields = self.contract.message_columns();
        let mut columns = vec![self.key()];
        columns.extend(fields.iter().map(|(_, column)| self.field(column)));
        columns.extend(self.remembered(&self.id()));
        let among = builder.among(&self.id(), Param::Ids);
        let text = format!("SELECT {}\nFROM {} AS t\nWHERE {among}", columns.join(", "), self.name());
        let script = Script { steps: vec![builder.finish(&text, Yields::Other)] };
        LoadFields { script, names: self.layout().fields }
    }

    /// Returns the script that reads joined tables, count fields and history times; `None` if the contract has none of them.
    pub fn join(&self) -> Option<LoadJoined> {
        let reached = self.reached();
        if self.contract.joins.is_empty() && self.contract.counts.is_empty() && reached.is_none() {
            return None;
        }
        let builder = StepBuilder::plain(self);
        let mut columns = vec![self.key()];
        let mut from = format!("{} AS t", self.name());
        for join in self.joins() {
            columns.extend(join.columns);
            from.push_str(&join.clause);
        }
        columns.extend(self.count_fields());
        columns.extend(reached);
        columns.push(self.epoch_millis());
        let among = builder.among(&self.id(), Param::Ids);
        let text = format!("SELECT {}\nFROM {from}\nWHERE {among}", columns.join(", "));
        let script = Script { steps: vec![builder.finish(&text, Yields::Other)] };
        let lists = self.contract.joins.iter().filter(|join| join.many.is_some()).count();
        Some(LoadJoined { script, columns: self.layout().joined.len() - lists })
    }
}

/// Removes the table's alias, which SQLite's RETURNING does not know. No literal of a contract occurs in these columns.
pub(crate) fn returning(columns: &str) -> String {
    columns.replace("t.\"", "\"").replace("t.`", "`")
}
