//! A contract, a stage and a real table, checked against each other once, so that later rendering cannot fail.
//!
//! Invariant: every name in it has passed `ident::check`, every column that a statement names is in the shape, and the
//! form of every time column is known.

use std::collections::{BTreeMap, BTreeSet};

use postrider_contract::{
    ColumnRole, Condition, Contract, Expr, GroupRule, Literal, OnError, Stage, StateId, When,
};

use crate::groups::order as ordered;
use crate::render::column::{self, Kind, Time};
use crate::render::ident;
use crate::{Dialect, Error, Shape, ShapeColumn};

/// A contract, a stage and a table that fit together.
pub(crate) struct Table<'a> {
    pub contract: &'a Contract,
    pub stage: &'a Stage,
    pub dialect: Dialect,
    pub shape: &'a Shape,
    times: BTreeMap<String, Time>,
}

impl<'a> Table<'a> {
    /// Checks the contract against the table; errs if a column is missing or a name or type is not usable.
    pub fn new(
        contract: &'a Contract,
        stage: &'a Stage,
        dialect: Dialect,
        shape: &'a Shape,
    ) -> Result<Self, Error> {
        let mut own = own_columns(contract, stage);
        if dialect == Dialect::Mysql && contract.group.as_ref().is_some_and(GroupRule::keeps_order) {
            own.insert(ordered::live_column(contract, stage));
        }
        for name in own.iter().chain(&foreign_names(contract)) {
            ident::check(name)?;
        }
        for text in literals(contract) {
            ident::check_text(text)?;
        }
        let missing: Vec<String> = own.into_iter().filter(|name| shape.column(name).is_none()).collect();
        if !missing.is_empty() {
            let table = contract.table.name.clone();
            // The application need not add the columns that `migrate` generates from others.
            let made = dialect == Dialect::Mysql && missing == [ordered::live_column(contract, stage)];
            return Err(if made {
                Error::NotMigrated { table, columns: missing }
            } else {
                Error::MissingColumns { table, columns: missing }
            });
        }
        let mut times = BTreeMap::new();
        for name in time_columns(contract) {
            let column = shape.column(&name).expect("checked above");
            times.insert(name, column::time(dialect, contract.table.time_of(&column.name), column)?);
        }
        let table = Self { contract, stage, dialect, shape, times };
        table.check_fence()?;
        Ok(table)
    }

    fn check_fence(&self) -> Result<(), Error> {
        let mut times = 0;
        for role in &self.stage.lease.fence {
            let Some(column) = self.contract.column(*role) else {
                return Err(Error::Fence { stage: self.stage.name.clone(), role: role.name() });
            };
            times += usize::from(self.times.contains_key(column));
        }
        if times > 1 && self.dialect == Dialect::Mysql {
            return Err(Error::FenceTimes(self.stage.name.clone()));
        }
        Ok(())
    }

    /// Returns the table's name, quoted, with its schema.
    pub fn name(&self) -> String {
        let name = self.dialect.quoted(&self.contract.table.name);
        match &self.contract.table.schema {
            Some(schema) => format!("{}.{name}", self.dialect.quoted(schema)),
            None => name,
        }
    }

    /// Returns the name, quoted for the dialect.
    pub fn quote(&self, name: &str) -> String {
        self.dialect.quoted(name)
    }

    /// Returns the column with the table's alias: `t."column"`.
    pub fn col(&self, name: &str) -> String {
        format!("t.{}", self.quote(name))
    }

    /// Returns the columns that these texts read from `t`, with the table's alias.
    pub fn columns_read_by(&self, texts: &[&str]) -> String {
        let columns = self.shape.columns.iter().map(|column| self.col(&column.name));
        let read: BTreeSet<String> =
            columns.filter(|column| texts.iter().any(|text| text.contains(column))).collect();
        read.into_iter().collect::<Vec<_>>().join(", ")
    }

    /// Returns the key column with the table's alias.
    pub fn id(&self) -> String {
        self.col(&self.contract.table.id)
    }

    /// Returns the column of a role with the table's alias; `None` if the contract has none.
    pub fn role(&self, role: ColumnRole) -> Option<String> {
        self.contract.column(role).map(|name| self.col(name))
    }

    /// Returns the description of a column that the contract names.
    pub fn shape_of(&self, name: &str) -> &ShapeColumn {
        self.shape.column(name).expect("Table::new checked that every named column is there")
    }

    /// Returns the kind of value that a column holds.
    pub fn kind(&self, name: &str) -> Kind {
        Kind::of(&self.shape_of(name).sql_type)
    }

    /// Whether the key is an integer.
    pub fn integer_id(&self) -> bool {
        self.kind(&self.contract.table.id) == Kind::Integer
    }

    /// Whether the key is binary.
    pub fn has_binary_id(&self) -> bool {
        self.kind(&self.contract.table.id) == Kind::Binary
    }

    /// Returns how a column holds a time; `None` if it holds none.
    pub fn time(&self, name: &str) -> Option<Time> {
        self.times.get(name).copied()
    }

    /// Returns a literal of the contract as SQL.
    pub fn literal(&self, value: &Literal) -> String {
        ident::literal(self.dialect, value)
    }

    /// Returns a text literal as SQL.
    pub fn text(&self, text: &str) -> String {
        ident::text(self.dialect, text)
    }

    /// Returns the columns of the stage's fence.
    pub fn fence(&self) -> Vec<(ColumnRole, &str)> {
        let fence = self.stage.lease.fence.iter();
        fence.filter_map(|role| self.contract.column(*role).map(|column| (*role, column))).collect()
    }

    /// Returns the value of the status column in a state; `None` if another column decides.
    pub fn status_literal(&self, state: StateId) -> Option<&Literal> {
        let status = self.contract.column(ColumnRole::Status)?;
        self.contract.state(state).conditions.iter().find_map(|(column, condition)| match condition {
            Condition::Is(literal) if column == status => Some(literal),
            _ => None,
        })
    }
}

/// Every column of the contract's table that a statement may name.
fn own_columns(contract: &Contract, stage: &Stage) -> BTreeSet<String> {
    let mut names = BTreeSet::from([contract.table.id.clone()]);
    names.extend(contract.columns.0.values().map(|column| column.name.clone()));
    names.extend(contract.message_columns().into_iter().map(|(_, column)| column));
    for state in &contract.states {
        names.extend(state.conditions.iter().map(|(column, _)| column.clone()));
    }
    names.extend(contract.claim.filter.iter().map(|(column, _)| column.clone()));
    names.extend(
        contract.claim.order.iter().filter_map(|order| contract.order_column(order)).map(str::to_owned),
    );
    names.extend(contract.claim.fair.iter().map(|fair| fair.name.clone()));
    if let Some(group) = &contract.group {
        names.insert(group.by.clone());
        names.extend(group.sequence.iter().cloned());
        if let OnError::ByColumn { column, .. } = &group.on_error {
            names.insert(column.clone());
        }
    }
    names.extend(stage.retry_rule.column.clone());
    names.extend(contract.writes.iter().map(|write| write.column.name.clone()));
    let swept = contract.sweeps.iter().flat_map(|sweep| &sweep.writes);
    names.extend(swept.map(|(column, _)| column.name.clone()));
    names.extend(time_columns(contract));
    exprs(contract).for_each(|value| row_columns(value, &mut names));
    for join in &contract.joins {
        let own = join.on.iter().filter(|(_, (alias, _))| alias == "row");
        names.extend(own.map(|(_, (_, column))| column.clone()));
    }
    names.extend(contract.counts.iter().flat_map(|count| count.same.iter().cloned()));
    names.extend(contract.due.retry_after.iter().map(|asked| asked.column.clone()));
    names
}

/// Every value that the contract writes or inserts.
fn exprs(contract: &Contract) -> impl Iterator<Item = &Expr> {
    let writes = contract.writes.iter().map(|write| &write.value);
    let swept = contract.sweeps.iter().flat_map(|sweep| sweep.writes.iter().map(|(_, value)| value));
    let effects = contract.effects.iter().flat_map(|effect| effect.values.iter().map(|(_, value)| value));
    writes.chain(swept).chain(effects)
}

fn row_columns(value: &Expr, names: &mut BTreeSet<String>) {
    match value {
        Expr::Row { column, .. } => {
            names.insert(column.clone());
        }
        Expr::Json(members) => members.iter().for_each(|(_, value)| row_columns(value, names)),
        _ => {}
    }
}

fn time_columns(contract: &Contract) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let roles = contract.columns.0.iter().filter(|(role, _)| role.is_time());
    names.extend(roles.map(|(_, column)| column.name.clone()));
    for sweep in &contract.sweeps {
        match &sweep.when {
            When::OlderThan { since: column, .. } | When::At { column } | When::Before { column } => {
                names.insert(column.clone());
            }
            When::Always => {}
        }
    }
    names.extend(contract.retention.iter().flat_map(|rule| rule.since.iter().cloned()));
    names.extend(contract.counts.iter().filter_map(|count| Some(count.within.as_ref()?.1.clone())));
    for state in &contract.states {
        let never = state.conditions.iter().filter(|(_, condition)| matches!(condition, Condition::Never(_)));
        names.extend(never.map(|(column, _)| column.clone()));
    }
    names
}

/// Names of other tables, their columns, and the members that carry values.
fn foreign_names(contract: &Contract) -> BTreeSet<String> {
    let mut names = BTreeSet::from([contract.table.name.clone()]);
    names.extend(contract.table.schema.clone());
    if let Some(pool) = &contract.pool {
        names.extend(pool.table.split('.').map(str::to_owned));
        names.extend([&pool.id, &pool.concurrency, &pool.rate, &pool.paused].map(String::clone));
    }
    names.extend(contract.history.iter().map(|history| history.order.clone()));
    for effect in &contract.effects {
        names.extend(effect.table.split('.').map(str::to_owned));
        names.extend(effect.values.iter().map(|(column, _)| column.clone()));
    }
    exprs(contract).for_each(|value| member_names(value, &mut names));
    for join in &contract.joins {
        names.insert(join.alias.clone());
        names.extend(join.table.split('.').map(str::to_owned));
        names.extend(join.columns.iter().map(|known| known.column.name.clone()));
        names.extend(join.many.iter().flat_map(|many| many.order.iter().cloned()));
        for (column, (alias, other)) in &join.on {
            names.extend([column.clone(), alias.clone(), other.clone()]);
        }
    }
    names
}

fn member_names(value: &Expr, names: &mut BTreeSet<String>) {
    match value {
        Expr::Envelope { field, .. } | Expr::Outcome { field, .. } => {
            names.insert(field.clone());
        }
        Expr::Json(members) => members.iter().for_each(|(_, value)| member_names(value, names)),
        _ => {}
    }
}

/// Every text that a statement contains as a literal.
fn literals(contract: &Contract) -> Vec<&str> {
    let mut texts = Vec::new();
    for state in &contract.states {
        texts.push(state.name.as_str());
        for (_, condition) in &state.conditions {
            if let Condition::Is(Literal::Text(text)) = condition {
                texts.push(text);
            }
        }
    }
    for (_, literal) in &contract.claim.filter {
        if let Literal::Text(text) = literal {
            texts.push(text);
        }
    }
    if let Some(group) = &contract.group {
        if let Some(Literal::Text(none)) = &group.none {
            texts.push(none);
        }
        if let OnError::ByColumn { values, .. } = &group.on_error {
            texts.extend(values.keys().map(String::as_str));
        }
    }
    texts.extend(contract.sweeps.iter().filter_map(|sweep| sweep.reason.as_deref()));
    exprs(contract).for_each(|value| expr_texts(value, &mut texts));
    texts
}

fn expr_texts<'a>(value: &'a Expr, texts: &mut Vec<&'a str>) {
    match value {
        Expr::Literal(Literal::Text(text)) => texts.push(text),
        Expr::Json(members) => {
            for (name, value) in members {
                texts.push(name);
                expr_texts(value, texts);
            }
        }
        _ => {}
    }
}
