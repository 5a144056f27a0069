//! The columns of a claimed row in results: the fixed columns, the fence as text, and message fields while they are
//! small.

use std::sync::Arc;

use postrider_contract::{ColumnRole, Join, RESULTS, Set};
use postrider_seams::row::{CLOCK, REACHED};
use postrider_seams::store::INLINE_LIMIT;

use crate::render::column::Kind;
use crate::render::step_builder::StepBuilder;
use crate::render::table::Table;
use crate::render::value::Writes;
use crate::{Dialect, Layout};

impl Table<'_> {
    /// Returns the positions and names of the columns in a claimed row.
    pub fn layout(&self) -> Layout {
        let fence = self.fence();
        let claim_time = match self.dialect {
            Dialect::Mysql => fence.iter().position(|(_, column)| self.time(column).is_some()),
            Dialect::Postgres | Dialect::Sqlite => None,
        };
        Layout {
            integer_id: self.integer_id(),
            fences: fence.len(),
            claim_time,
            pool: fence.len() + 6,
            fields: self.field_names(),
            joined: self.joined_fields(),
        }
    }

    fn field_names(&self) -> Arc<[String]> {
        let columns = self.contract.message_columns().into_iter().map(|(field, _)| field);
        columns.chain(self.remembers_recipients().then(|| RESULTS.to_owned())).collect()
    }

    fn joined_fields(&self) -> Arc<[String]> {
        let (joins, counts) = (self.single_joins(), &self.contract.counts);
        let reached = self.reached().map(|_| REACHED.to_owned());
        if self.contract.joins.is_empty() && counts.is_empty() && reached.is_none() {
            return Arc::from([]);
        }
        let of = |join: &'_ Join| {
            let columns = join.columns.iter();
            columns.map(|known| format!("{}.{}", join.alias, known.name)).collect::<Vec<_>>()
        };
        let lists = self.contract.joins.iter().filter(|join| join.many.is_some());
        let lists = lists.map(|join| join.alias.clone());
        let counted = counts.iter().map(|count| count.field.clone());
        let single = joins.into_iter().flat_map(of).chain(counted).chain(reached);
        single.chain([CLOCK.to_owned()]).chain(lists).collect()
    }

    fn single_joins(&self) -> Vec<&Join> {
        self.contract.joins.iter().filter(|join| join.many.is_none()).collect()
    }

    /// Returns the expression cast to text.
    pub fn as_text(&self, expression: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("({expression})::text"),
            Dialect::Mysql => format!("CAST({expression} AS CHAR)"),
            Dialect::Sqlite => format!("CAST({expression} AS TEXT)"),
        }
    }

    /// Returns the expression cast to a 64-bit integer.
    pub fn as_integer(&self, expression: &str) -> String {
        match self.dialect {
            Dialect::Postgres => format!("({expression})::bigint"),
            Dialect::Mysql => format!("CAST({expression} AS SIGNED)"),
            Dialect::Sqlite => format!("CAST({expression} AS INTEGER)"),
        }
    }

    /// Returns the key as results carry it: an integer or text.
    pub fn key(&self) -> String {
        if self.integer_id() { self.as_integer(&self.id()) } else { self.key_text(&self.id()) }
    }

    /// Returns a key as text. A binary key is hexadecimal; PostgreSQL writes it so itself.
    pub fn key_text(&self, id: &str) -> String {
        match (self.has_binary_id(), self.dialect) {
            (true, Dialect::Mysql) => format!("LOWER(HEX({id}))"),
            (true, Dialect::Sqlite) => format!("lower(hex({id}))"),
            _ => self.as_text(id),
        }
    }

    /// Returns a key that was bound as text in the type of a binary key; unchanged if it is not binary, and on
    /// PostgreSQL, which casts it.
    pub fn key_value(&self, text: &str) -> String {
        match (self.has_binary_id(), self.dialect) {
            (true, Dialect::Mysql) => format!("UNHEX({text})"),
            (true, Dialect::Sqlite) => format!("unhex({text})"),
            _ => text.to_owned(),
        }
    }

    /// The size of a column in bytes, if it can be large; `None` for other columns.
    fn size_of(&self, column: &str) -> Option<String> {
        let col = self.col(column);
        match (self.kind(column), self.dialect) {
            (Kind::Integer | Kind::Bool | Kind::Other, _) => None,
            (Kind::Json, Dialect::Postgres) => Some(format!("octet_length({col}::text)")),
            (_, Dialect::Postgres) => Some(format!("octet_length({col})")),
            (_, Dialect::Mysql) => Some(format!("LENGTH({col})")),
            (_, Dialect::Sqlite) => Some(format!("length(CAST({col} AS BLOB))")),
        }
    }

    /// The total size of the message columns, in bytes.
    fn size(&self) -> String {
        let columns = self.contract.message_columns();
        let sizes: Vec<String> = columns
            .iter()
            .filter_map(|(_, column)| self.size_of(column))
            .map(|size| format!("COALESCE({size}, 0)"))
            .collect();
        if sizes.is_empty() { "0".to_owned() } else { sizes.join(" + ") }
    }

    /// Returns a message column in the type in which results carry it.
    pub fn field(&self, column: &str) -> String {
        let col = self.col(column);
        match (self.kind(column), self.dialect) {
            (Kind::Text, Dialect::Mysql | Dialect::Sqlite) | (Kind::Binary, _) => col,
            (Kind::Bool, _) => format!("CASE WHEN {col} THEN 'true' WHEN NOT {col} THEN 'false' END"),
            _ => self.as_text(&col),
        }
    }

    /// The same, or NULL if the value is too large to be returned with the claim.
    fn inline_field(&self, column: &str) -> String {
        let field = self.field(column);
        match self.size_of(column) {
            Some(size) => format!("CASE WHEN {size} <= {INLINE_LIMIT} THEN {field} END"),
            None => field,
        }
    }

    /// The row's group and mode, if the row keeps an order.
    fn group_columns(&self) -> [String; 2] {
        let Some(group) = self.group() else { return ["NULL".to_owned(), "NULL".to_owned()] };
        let ordered = self.is_ordered(group);
        let key = self.as_text(&self.col(&group.by));
        [format!("CASE WHEN {ordered} THEN {key} END"), self.mode_name(group)]
    }

    /// Microseconds since the row became due. A claim that overwrites the due time hides it.
    fn waited(&self, writes: &Writes<'_>) -> String {
        self.waited_since(|column| writes.set_of(column).is_none())
    }

    /// Returns the microseconds since the row became due, by the first of these times that it has and that `counts`.
    pub fn waited_since(&self, counts: impl Fn(&str) -> bool) -> String {
        let roles = [ColumnRole::Due, ColumnRole::Attempted, ColumnRole::Created].into_iter();
        let known = roles.filter_map(|role| self.contract.column(role)).filter(|column| counts(column));
        let waits: Vec<String> = known.map(|column| self.micros_since(column)).collect();
        match waits.as_slice() {
            [] => "0".to_owned(),
            [one] => one.clone(),
            many => format!("COALESCE({})", many.join(", ")),
        }
    }
}

/// Whether the row is read before or after the claim writes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Seen {
    Before,
    After,
}

impl StepBuilder<'_> {
    /// Returns the columns of [`Layout`], in its order.
    pub fn layout_columns(&self, writes: &Writes<'_>, seen: Seen) -> Vec<String> {
        let table = self.table;
        let null = || "NULL".to_owned();
        let text =
            |column: Option<&str>| column.map_or_else(null, |column| table.as_text(&table.col(column)));
        let mut columns = vec![table.key()];
        columns.extend(self.fence_columns(writes, seen));
        let returned = table.dialect == Dialect::Sqlite && seen == Seen::After;
        let id = if returned { table.returned_id() } else { table.id() };
        let counted = table.tries_in_history(&id);
        let attempts = counted.or_else(|| table.attempts()).map_or_else(null, |attempts| {
            let counts = table.contract.column(ColumnRole::Attempts).and_then(|column| writes.set_of(column));
            let paid = seen == Seen::Before && counts == Some(&Set::Increment);
            table.as_integer(&if paid { format!("{attempts} + 1") } else { attempts })
        });
        columns.push(attempts);
        columns
            .push(table.role(ColumnRole::MaxAttempts).map_or_else(null, |column| table.as_integer(&column)));
        columns.push(text(table.stage.retry_rule.column.as_deref()));
        columns.extend(table.group_columns());
        columns.push(text(table.contract.column(ColumnRole::Pool)));
        columns.push(text(table.contract.claim.fair.as_ref().map(|fair| fair.name.as_str())));
        columns.push(table.as_integer(&table.waited(writes)));
        columns.push(table.as_integer(&table.size()));
        let fields = table.contract.message_columns();
        columns.extend(fields.iter().map(|(_, column)| table.inline_field(column)));
        columns.extend(table.remembered(&id));
        columns
    }

    /// The values of the fence after the claim.
    fn fence_columns(&self, writes: &Writes<'_>, seen: Seen) -> Vec<String> {
        let one = |(_, column): &(ColumnRole, &str)| {
            let set = writes.set_of(column).filter(|_| seen == Seen::Before);
            let value = set.and_then(|set| self.set(column, set, writes));
            self.table.as_text(&value.unwrap_or_else(|| self.table.col(column)))
        };
        self.table.fence().iter().map(one).collect()
    }
}
