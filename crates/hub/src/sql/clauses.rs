//! The values of the hub's tables, and the clauses that its statements share.

use postrider_sql::driver::execute::{Arg, SqlBuilder};

use super::dialect::{now, now_plus};
use super::{ColumnType, Dialect, NewRow, Table};
use crate::Moment;
use crate::access::ClientScope;

/// A value to bind, with its type: a NULL has one too.
#[derive(Debug, Clone)]
pub enum SqlValue {
    Text(Option<String>),
    Int(Option<i64>),
    Flag(bool),
    Time(Option<Moment>),
}

impl SqlValue {
    pub(super) fn column_type(&self) -> ColumnType {
        match self {
            Self::Text(_) => ColumnType::Text,
            Self::Int(_) => ColumnType::Int,
            Self::Flag(_) => ColumnType::Flag,
            Self::Time(_) => ColumnType::Time,
        }
    }
}

/// Starts `SELECT … FROM … AS t WHERE 1 = 1` with all columns of the table.
pub fn select(dialect: Dialect, table: &Table) -> SqlBuilder {
    SqlBuilder::new(dialect, table.select(dialect)).push(" WHERE 1 = 1")
}

/// Starts `UPDATE … SET …` with the values of the row.
pub fn update(dialect: Dialect, table: &str, row: NewRow) -> SqlBuilder {
    let mut update = SqlBuilder::new(dialect, format!("UPDATE {table} SET "));
    for (index, (column, value)) in row.0.into_iter().enumerate() {
        update = update.push(if index == 0 { "" } else { ", " }).column(column).push(" = ");
        update = match value {
            SqlValue::Text(text) => update.value(Arg::Text(text)),
            SqlValue::Int(number) => update.value(Arg::Int(number)),
            SqlValue::Flag(flag) => update.flag(flag),
            SqlValue::Time(time) => update.moment(time),
        };
    }
    update
}

/// The clauses that statements of the hub share.
pub trait Clauses: Sized {
    /// Appends the time of the database.
    fn now(self) -> Self;

    /// Appends the time this many seconds from now; negative: in the past.
    fn now_plus(self, seconds: i64) -> Self;

    /// Appends a bound time with microseconds; `None` binds NULL.
    fn moment(self, time: Option<Moment>) -> Self;

    /// Appends ` AND t.column = value`, unless the value is `None`.
    fn and_equals(self, column: &str, value: Option<&str>) -> Self;

    /// Appends the conditions that `t.created_at` is at or after the first time and before the second.
    fn and_created(self, after: Option<Moment>, before: Option<Moment>) -> Self;

    /// Appends ` AND …` for each condition. They must not contain values from callers.
    fn all_of(self, conditions: &[String]) -> Self;

    /// Appends the condition that `t.client_id` is a client of the scope.
    fn and_in_scope(self, scope: &ClientScope) -> Self;
}

impl Clauses for SqlBuilder {
    fn now(self) -> Self {
        let now = now(self.dialect());
        self.push(now)
    }

    fn all_of(self, conditions: &[String]) -> Self {
        conditions.iter().fold(self, |query, condition| query.push(" AND ").push(condition))
    }

    fn now_plus(self, seconds: i64) -> Self {
        let time = now_plus(self.dialect(), seconds);
        self.push(&time)
    }

    fn moment(self, time: Option<Moment>) -> Self {
        let text = time.map(|time| time.for_column(self.dialect()));
        self.time(text)
    }

    fn and_equals(self, column: &str, value: Option<&str>) -> Self {
        match value {
            Some(value) => self.push(" AND t.").column(column).push(" = ").text(value),
            None => self,
        }
    }

    fn and_created(mut self, after: Option<Moment>, before: Option<Moment>) -> Self {
        if after.is_some() {
            self = self.push(" AND t.created_at >= ").moment(after);
        }
        if before.is_some() {
            self = self.push(" AND t.created_at < ").moment(before);
        }
        self
    }

    fn and_in_scope(self, scope: &ClientScope) -> Self {
        match scope {
            ClientScope::All => self,
            ClientScope::Only(clients) => self.push(" AND t.client_id IN ").in_list(clients),
        }
    }
}
