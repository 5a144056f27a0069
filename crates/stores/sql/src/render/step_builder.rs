//! A builder for one SQL statement: fragments name their binds in any order, and `finish` numbers the placeholders.

use std::cell::{Cell, RefCell};

use postrider_contract::Literal;

use crate::render::column::{Kind, Time, postgres_type};
use crate::render::table::Table;
use crate::{Dialect, Field, Param, Script, Step, Yields};

/// Where the values of a statement come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// Each row has its own values, in the relation with alias `v`.
    Each,
    /// All rows share the values.
    Uniform,
    /// There is no settlement: the only value is a reason from the contract, if any.
    Contract { reason: Option<String> },
}

/// A statement under construction, with what it binds.
pub(crate) struct StepBuilder<'a> {
    pub table: &'a Table<'a>,
    pub source: Source,
    params: RefCell<Vec<Param>>,
    fields: RefCell<Vec<Field>>,
    /// PostgreSQL: values are read from the CTE of moved rows, which must then contain them.
    pub reads_moved: Cell<bool>,
    pub carried: RefCell<Vec<Field>>,
    /// MySQL: a claim writes the claim time that the pick step returned.
    pub claims_with_bound_time: Cell<bool>,
}

/// Returns the column name under which the moved rows carry a settlement's value.
pub(crate) fn carried_name(field: &Field) -> String {
    format!("postrider {}", field.key())
}

/// Encloses the index of a bind until the statement is finished. Identifiers and literals cannot contain it.
const MARK: char = '\u{1}';

impl<'a> StepBuilder<'a> {
    /// An empty statement whose values come from `source`.
    pub fn new(table: &'a Table<'a>, source: Source) -> Self {
        Self {
            table,
            source,
            params: RefCell::default(),
            fields: RefCell::default(),
            reads_moved: Cell::default(),
            carried: RefCell::default(),
            claims_with_bound_time: Cell::default(),
        }
    }

    /// An empty statement without settlements or a reason.
    pub fn plain(table: &'a Table<'a>) -> Self {
        Self::new(table, Source::Contract { reason: None })
    }

    /// Adds a bind, or reuses an equal one, and returns its placeholder mark.
    pub fn bind(&self, bind: Param) -> String {
        let mut params = self.params.borrow_mut();
        let index = params.iter().position(|known| *known == bind).unwrap_or_else(|| {
            params.push(bind);
            params.len() - 1
        });
        format!("{MARK}{index}{MARK}")
    }

    /// Returns a value of the settlement. A reason from the contract is a literal; without a settlement, other values
    /// are NULL.
    pub fn field(&self, field: Field) -> String {
        match &self.source {
            Source::Each => {
                remember(&mut self.fields.borrow_mut(), &field);
                if self.reads_moved.get() {
                    remember(&mut self.carried.borrow_mut(), &field);
                    return format!("t.{}", self.table.quote(&carried_name(&field)));
                }
                format!("v.{}", self.table.quote(&field.key()))
            }
            Source::Uniform => {
                let cast = if field == Field::Delay { "float8" } else { "text" };
                let mark = self.bind(Param::One(field));
                if self.table.dialect == Dialect::Postgres { format!("{mark}::{cast}") } else { mark }
            }
            Source::Contract { reason: Some(reason) } if field == Field::Reason => {
                self.table.literal(&Literal::Text(reason.clone()))
            }
            Source::Contract { .. } => "NULL".to_owned(),
        }
    }

    /// Whether the statement has used a per-row field so far.
    pub fn has_fields(&self) -> bool {
        !self.fields.borrow().is_empty()
    }

    /// Returns a key or fence value cast to its column's type, so that an index can be used and a time is compared
    /// exactly.
    pub fn typed(&self, field: Field, column: &str) -> String {
        let value = self.field(field);
        let shape = self.table.shape_of(column);
        let collated = match (&shape.collation, &self.source) {
            (Some(collation), Source::Each) => {
                let charset = collation.split('_').next().unwrap_or("utf8mb4");
                format!("CONVERT({value} USING {charset}) COLLATE {collation}")
            }
            _ => value.clone(),
        };
        match (self.table.dialect, &self.source) {
            // The arrays are cast as a whole.
            (Dialect::Mysql | Dialect::Sqlite, _) if self.is_binary_key(column) => {
                self.table.key_value(&value)
            }
            (Dialect::Postgres, Source::Each) | (Dialect::Sqlite, _) => value,
            (Dialect::Postgres, _) => format!("({value})::{}", postgres_type(&shape.sql_type)),
            (Dialect::Mysql, Source::Uniform) => {
                mysql_typed(&value, self.table.kind(column), self.table.time(column))
            }
            (Dialect::Mysql, _) => collated,
        }
    }

    fn is_binary_key(&self, column: &str) -> bool {
        column == self.table.contract.table.id && self.table.has_binary_id()
    }

    /// Returns the relation with the values of all rows, as `v`.
    ///
    /// `unnest(…) AS v(…)`, `(SELECT * FROM JSON_TABLE(…) AS j) AS v`, or `(SELECT … FROM json_each(…)) AS v`.
    pub fn rows(&self) -> String {
        let fields = self.fields.borrow().clone();
        let names = fields.iter().map(|field| self.table.quote(&field.key()));
        match self.table.dialect {
            Dialect::Postgres => {
                let names = names.collect::<Vec<_>>().join(", ");
                let arrays: Vec<String> = fields.iter().map(|field| self.postgres_array(field)).collect();
                format!("unnest({}) AS v({names})", arrays.join(", "))
            }
            Dialect::Mysql => {
                let columns: Vec<String> = fields
                    .iter()
                    .zip(names)
                    .map(|(field, name)| {
                        format!("{name} {} PATH '$.{}'", self.mysql_type(field), field.key())
                    })
                    .collect();
                let rows = self.bind(Param::Rows(fields.clone()));
                // MySQL accepts a table function beside FOR UPDATE only in a subquery (error 3569).
                let columns = columns.join(", ");
                format!("(SELECT * FROM JSON_TABLE({rows}, '$[*]' COLUMNS ({columns})) AS j) AS v")
            }
            Dialect::Sqlite => {
                let columns: Vec<String> =
                    fields.iter().zip(names).map(|(field, name)| self.sqlite_member(field, &name)).collect();
                let rows = self.bind(Param::Rows(fields.clone()));
                format!("(SELECT {} FROM json_each({rows})) AS v", columns.join(", "))
            }
        }
    }

    fn postgres_array(&self, field: &Field) -> String {
        let array = self.bind(Param::Array(field.clone()));
        match self.column_of(field) {
            _ if *field == Field::Delay => format!("{array}::float8[]"),
            Some(column) => {
                format!("({array}::text[])::{}[]", postgres_type(&self.table.shape_of(column).sql_type))
            }
            None => format!("{array}::text[]"),
        }
    }

    fn mysql_type(&self, field: &Field) -> &'static str {
        match (field, self.column_of(field)) {
            (Field::Delay, _) => "DOUBLE",
            (_, Some(column)) => match (self.table.kind(column), self.table.time(column)) {
                (_, Some(Time::Zoned { .. } | Time::Zoneless { .. })) => "DATETIME(6)",
                (Kind::Integer, _) => "BIGINT",
                _ => "VARCHAR(255)",
            },
            (Field::Tsid, _) => "CHAR(13)",
            _ => "LONGTEXT",
        }
    }

    fn sqlite_member(&self, field: &Field, name: &str) -> String {
        let member = format!("value->>'{}'", field.key());
        match field {
            Field::Id if self.table.integer_id() => format!("CAST({member} AS INTEGER) AS {name}"),
            Field::Id | Field::Fence(_) => format!("CAST({member} AS TEXT) AS {name}"),
            _ => format!("{member} AS {name}"),
        }
    }

    /// The column that has the type of a key or fence value.
    fn column_of(&self, field: &Field) -> Option<&str> {
        match field {
            Field::Id => Some(&self.table.contract.table.id),
            Field::Fence(index) => self.table.fence().get(*index).map(|(_, column)| *column),
            _ => None,
        }
    }

    /// Returns the condition that the column is one of the keys: `= ANY (…)` or `IN (…)`.
    pub fn among(&self, column: &str, keys: Param) -> String {
        let id = &self.table.contract.table.id;
        match self.table.dialect {
            Dialect::Postgres => {
                let cast = postgres_type(&self.table.shape_of(id).sql_type);
                format!("{column} = ANY (({}::text[])::{cast}[])", self.bind(keys))
            }
            Dialect::Mysql => format!("{column} IN ({})", self.table.key_value(&self.bind(keys))),
            Dialect::Sqlite if self.table.has_binary_id() => {
                format!("{column} IN (SELECT unhex(value) FROM json_each({}))", self.bind(keys))
            }
            Dialect::Sqlite => {
                let cast = if self.table.integer_id() { "INTEGER" } else { "TEXT" };
                format!("{column} IN (SELECT CAST(value AS {cast}) FROM json_each({}))", self.bind(keys))
            }
        }
    }

    /// Numbers the placeholders as the dialect writes them, and returns the finished step.
    pub fn finish(self, text: &str, yields: Yields) -> Step {
        let known = self.params.into_inner();
        let dialect = self.table.dialect;
        let mut sql = String::with_capacity(text.len());
        let mut params: Vec<Param> = Vec::new();
        for (index, part) in text.split(MARK).enumerate() {
            if index % 2 == 0 {
                sql.push_str(part);
                continue;
            }
            let bind = &known[part.parse::<usize>().expect("a mark holds an index")];
            sql.push_str(&placeholder(dialect, bind, &mut params));
        }
        Step { sql, params, yields }
    }
}

impl Table<'_> {
    /// Returns a script of one statement without parameters.
    pub fn one(&self, text: &str) -> Script {
        Script { steps: vec![StepBuilder::plain(self).finish(text, Yields::Other)] }
    }
}

fn remember(fields: &mut Vec<Field>, field: &Field) {
    if !fields.contains(field) {
        fields.push(field.clone());
    }
}

fn placeholder(dialect: Dialect, bind: &Param, params: &mut Vec<Param>) -> String {
    if dialect == Dialect::Mysql {
        params.push(bind.clone());
        return bind.marker().to_owned();
    }
    let index = params.iter().position(|known| known == bind).unwrap_or_else(|| {
        params.push(bind.clone());
        params.len() - 1
    });
    dialect.placeholder(index + 1)
}

fn mysql_typed(value: &str, kind: Kind, time: Option<Time>) -> String {
    match (kind, time) {
        (_, Some(Time::Zoned { .. } | Time::Zoneless { .. })) => format!("CAST({value} AS DATETIME(6))"),
        (Kind::Integer, _) => format!("CAST({value} AS SIGNED)"),
        _ => value.to_owned(),
    }
}
