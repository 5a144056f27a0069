//! One statement in the making: fragments name what they bind, in any order; `finish` numbers the placeholders.

use std::cell::{Cell, RefCell};

use postrider_contract::Literal;

use crate::column::{Kind, Time, postgres_type};
use crate::table::Table;
use crate::{Bind, Dialect, Field, Step, Yields};

/// Where a statement's values come from.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Source {
    /// Every row has its own: the alias `v`.
    Each,
    /// All rows share them.
    Uniform,
    /// There is no settlement: only a reason that is part of the contract, if that.
    Own { reason: Option<String> },
}

pub(crate) struct Draft<'a> {
    pub table: &'a Table<'a>,
    pub source: Source,
    binds: RefCell<Vec<Bind>>,
    fields: RefCell<Vec<Field>>,
    /// PostgreSQL: values are read from the CTE of moved rows, which must then carry them.
    pub reads_moved: Cell<bool>,
    pub carried: RefCell<Vec<Field>>,
    /// MySQL: a claim writes the claim time that the pick step came to.
    pub claims_with_bound_time: Cell<bool>,
}

/// The name under which the moved rows carry a settlement's value.
pub(crate) fn carried_name(field: &Field) -> String {
    format!("postrider {}", field.key())
}

/// Stands around a bind's index until the statement is finished. Identifiers and literals can't hold it.
const MARK: char = '\u{1}';

impl<'a> Draft<'a> {
    pub fn new(table: &'a Table<'a>, source: Source) -> Self {
        Self {
            table,
            source,
            binds: RefCell::default(),
            fields: RefCell::default(),
            reads_moved: Cell::default(),
            carried: RefCell::default(),
            claims_with_bound_time: Cell::default(),
        }
    }

    /// A statement about no settlement.
    pub fn own(table: &'a Table<'a>) -> Self {
        Self::new(table, Source::Own { reason: None })
    }

    pub fn bind(&self, bind: Bind) -> String {
        let mut binds = self.binds.borrow_mut();
        let index = binds.iter().position(|known| *known == bind).unwrap_or_else(|| {
            binds.push(bind);
            binds.len() - 1
        });
        format!("{MARK}{index}{MARK}")
    }

    /// A settlement's value. A reason of the contract's own is a literal; where there is no settlement the rest is NULL.
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
                let mark = self.bind(Bind::One(field));
                if self.table.dialect == Dialect::Postgres { format!("{mark}::{cast}") } else { mark }
            }
            Source::Own { reason: Some(reason) } if field == Field::Reason => {
                self.table.literal(&Literal::Text(reason.clone()))
            }
            Source::Own { .. } => "NULL".to_owned(),
        }
    }

    /// Was any field of a row's own named so far?
    pub fn has_fields(&self) -> bool {
        !self.fields.borrow().is_empty()
    }

    /// A key, or a fence value, in its column's own type: an index can serve, and a time survives exactly.
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
            (Dialect::Postgres, Source::Each) | (Dialect::Sqlite, _) => value,
            (Dialect::Postgres, _) => format!("({value})::{}", postgres_type(&shape.sql_type)),
            (Dialect::Mysql, Source::Uniform) => {
                mysql_typed(&value, self.table.kind(column), self.table.time(column))
            }
            (Dialect::Mysql, _) => collated,
        }
    }

    /// The rows that carry values: `unnest(…) AS v(…)`, `(SELECT * FROM JSON_TABLE(…) AS j) AS v`, `(SELECT … FROM json_each(…)) AS v`.
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
                let rows = self.bind(Bind::Rows(fields.clone()));
                // MySQL itself takes no table function beside FOR UPDATE (error 3569), but one in a subquery.
                let columns = columns.join(", ");
                format!("(SELECT * FROM JSON_TABLE({rows}, '$[*]' COLUMNS ({columns})) AS j) AS v")
            }
            Dialect::Sqlite => {
                let columns: Vec<String> =
                    fields.iter().zip(names).map(|(field, name)| self.sqlite_member(field, &name)).collect();
                let rows = self.bind(Bind::Rows(fields.clone()));
                format!("(SELECT {} FROM json_each({rows})) AS v", columns.join(", "))
            }
        }
    }

    fn postgres_array(&self, field: &Field) -> String {
        let array = self.bind(Bind::Array(field.clone()));
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

    /// The column whose type a key or a fence value has.
    fn column_of(&self, field: &Field) -> Option<&str> {
        match field {
            Field::Id => Some(&self.table.contract.table.id),
            Field::Fence(index) => self.table.fence().get(*index).map(|(_, column)| *column),
            _ => None,
        }
    }

    /// Keys of a list: `= ANY (…)` or `IN (…)`.
    pub fn among(&self, column: &str, keys: Bind) -> String {
        let id = &self.table.contract.table.id;
        match self.table.dialect {
            Dialect::Postgres => {
                let cast = postgres_type(&self.table.shape_of(id).sql_type);
                format!("{column} = ANY (({}::text[])::{cast}[])", self.bind(keys))
            }
            Dialect::Mysql => format!("{column} IN ({})", self.bind(keys)),
            Dialect::Sqlite => {
                let cast = if self.table.integer_id() { "INTEGER" } else { "TEXT" };
                format!("{column} IN (SELECT CAST(value AS {cast}) FROM json_each({}))", self.bind(keys))
            }
        }
    }

    pub fn finish(self, text: &str, yields: Yields) -> Step {
        let known = self.binds.into_inner();
        let dialect = self.table.dialect;
        let mut sql = String::with_capacity(text.len());
        let mut binds: Vec<Bind> = Vec::new();
        for (index, part) in text.split(MARK).enumerate() {
            if index % 2 == 0 {
                sql.push_str(part);
                continue;
            }
            let bind = &known[part.parse::<usize>().expect("a mark holds an index")];
            sql.push_str(&placeholder(dialect, bind, &mut binds));
        }
        Step { sql, binds, yields }
    }
}

fn remember(fields: &mut Vec<Field>, field: &Field) {
    if !fields.contains(field) {
        fields.push(field.clone());
    }
}

fn placeholder(dialect: Dialect, bind: &Bind, binds: &mut Vec<Bind>) -> String {
    if dialect == Dialect::Mysql {
        binds.push(bind.clone());
        return match bind {
            Bind::Ids => "{ids}".to_owned(),
            Bind::Held => "{held}".to_owned(),
            Bind::Pools => "{pools}".to_owned(),
            _ => "?".to_owned(),
        };
    }
    let index = binds.iter().position(|known| known == bind).unwrap_or_else(|| {
        binds.push(bind.clone());
        binds.len() - 1
    });
    let sign = if dialect == Dialect::Postgres { '$' } else { '?' };
    format!("{sign}{}", index + 1)
}

fn mysql_typed(value: &str, kind: Kind, time: Option<Time>) -> String {
    match (kind, time) {
        (_, Some(Time::Zoned { .. } | Time::Zoneless { .. })) => format!("CAST({value} AS DATETIME(6))"),
        (Kind::Integer, _) => format!("CAST({value} AS SIGNED)"),
        _ => value.to_owned(),
    }
}
