//! Checks whether the columns can hold every value that the contract itself names: states, and the constants of writes
//! and effects. A type, a length, a constraint or a foreign key may refuse one, and the database then rejects the move.

use std::collections::BTreeSet;

use postrider_contract::{ColumnRole, Condition, Effect, Expr, Literal, Move, StateId};
use postrider_seams::inspect::{Finding, Level};
use postrider_seams::store::{Class, Error};

use super::constraints::{Reference, declared_length};
use super::{Constraints, count, finding};
use crate::driver::Driver;
use crate::open_table::OpenTable;
use crate::render::column;
use crate::render::table::Table;
use crate::{Dialect, ShapeColumn};

/// A value that the contract writes into a column.
struct Written<'a> {
    column: &'a str,
    literal: &'a Literal,
    /// What writes it: `state taken`.
    by: String,
    /// What to change in the contract if the table is right.
    instead: &'static str,
}

/// The table that a value is written to.
struct TargetTable<'a> {
    /// As SQL; the prefix of its columns in findings is empty for the contract's own table.
    prefix: String,
    columns: &'a [ShapeColumn],
    constraints: &'a Constraints,
}

/// Why a column cannot hold a value.
struct Refusal {
    why: String,
    /// What to change in the table.
    remedy: &'static str,
    fix: Option<String>,
    /// Whether the database cannot even compare the column with the value.
    incomparable: bool,
}

impl OpenTable {
    /// Returns a finding for each value that a column cannot hold, and whether one of them keeps the claim from running.
    pub(crate) async fn refused_values(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
        constraints: &Constraints,
    ) -> Result<(Vec<Finding>, bool), Error> {
        let own = TargetTable { prefix: String::new(), columns: &self.shape.columns, constraints };
        let (mut found, unclaimable) = refused(on, table, &own, self.values_of_states()).await?;
        found.extend(refused(on, table, &own, self.values_of_writes()).await?.0);
        for effect in &self.contract.effects {
            let columns = self.shape.related.get(&effect.table);
            let Some((columns, constraints)) = columns.zip(constraints.related.get(&effect.table)) else {
                continue;
            };
            let target = TargetTable { prefix: format!("{}.", effect.table), columns, constraints };
            found.extend(refused(on, table, &target, self.values_of_effect(effect)).await?.0);
        }
        Ok((found, unclaimable))
    }

    fn values_of_states(&self) -> Vec<Written<'_>> {
        let states = self.contract.states.iter();
        let values = states.flat_map(|state| {
            state.conditions.iter().filter_map(|(column, condition)| match condition {
                Condition::Is(literal) => Some(Written {
                    column,
                    literal,
                    by: format!("state {}", state.name),
                    instead: "name the value that the table uses in [states]",
                }),
                Condition::Null(_) | Condition::Never(_) => None,
            })
        });
        values.collect()
    }

    fn values_of_writes(&self) -> Vec<Written<'_>> {
        let writes = self.contract.writes.iter().map(|write| {
            let on: Vec<&str> = write.on.iter().map(|on| on.name()).collect();
            (&write.column, &write.value, format!("[write] of {}", on.join(", ")))
        });
        let swept = self.contract.sweeps.iter().flat_map(|sweep| {
            sweep.writes.iter().map(|(column, value)| (column, value, "a [[sweep]]".to_owned()))
        });
        let mut written = Vec::new();
        for (column, value, by) in writes.chain(swept) {
            if let Expr::Literal(literal) = value {
                written.push(Written { column: &column.name, literal, by, instead: "write another value" });
            }
        }
        written
    }

    fn values_of_effect<'a>(&'a self, effect: &'a Effect) -> Vec<Written<'a>> {
        let on: Vec<&str> = effect.on.iter().map(|on| on.name()).collect();
        let by = format!("the effect of {}", on.join(", "));
        let mut written = Vec::new();
        for (column, value) in &effect.values {
            let literals = match value {
                Expr::Literal(literal) => vec![literal],
                Expr::State => self.statuses(effect, |step| step.to.into_iter().collect()),
                Expr::From => self.statuses(effect, |step| step.from.to_vec()),
                _ => Vec::new(),
            };
            let one = |literal| Written { column, literal, by: by.clone(), instead: "write another value" };
            written.extend(literals.into_iter().map(one));
        }
        written
    }

    /// The status values of states that the moves of an effect have.
    fn statuses<'a>(
        &'a self,
        effect: &Effect,
        states: impl Fn(&Move<'_>) -> Vec<StateId>,
    ) -> Vec<&'a Literal> {
        let status = self.contract.column(ColumnRole::Status);
        let moves = self.moves().into_iter().filter(|step| effect.on.contains(&step.transition));
        let value = |state: StateId| {
            let conditions = &self.contract.state(state).conditions;
            conditions.iter().find_map(|(column, condition)| match condition {
                Condition::Is(literal) if Some(column.as_str()) == status => Some(literal),
                _ => None,
            })
        };
        moves.flat_map(|step| states(&step)).filter_map(value).collect()
    }
}

/// Returns a finding for each value that its column cannot hold, and whether one cannot even be compared with it.
async fn refused(
    on: &impl Driver,
    table: &Table<'_>,
    target: &TargetTable<'_>,
    values: Vec<Written<'_>>,
) -> Result<(Vec<Finding>, bool), Error> {
    let (mut found, mut incomparable, mut seen) = (Vec::new(), false, BTreeSet::new());
    for value in values {
        let text = match value.literal {
            Literal::Text(text) => text.clone(),
            other => table.literal(other),
        };
        let column = target.columns.iter().find(|column| column.name == value.column);
        let Some(column) = column.filter(|_| seen.insert((value.column, text.clone()))) else { continue };
        let Some(refusal) = target.refusal(on, table, column, value.literal, &text).await? else { continue };
        incomparable |= refusal.incomparable;
        let Refusal { why, remedy, fix, .. } = refusal;
        let text = format!(
            "{}{} can't hold `{text}` ({}): {why}; {remedy}, or {}",
            target.prefix, value.column, value.by, value.instead
        );
        found.push(finding(Level::Error, text, fix));
    }
    Ok((found, incomparable))
}

impl TargetTable<'_> {
    async fn refusal(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
        column: &ShapeColumn,
        literal: &Literal,
        text: &str,
    ) -> Result<Option<Refusal>, Error> {
        if let Literal::Text(text) = literal {
            let declared =
                self.refused_by_type(table, column, text).or_else(|| too_long(table, column, text));
            if declared.is_some() {
                return Ok(declared);
            }
        }
        let value = typed(table, column, literal);
        if let Some(refusal) = self.refused_by_domain(on, table, column, literal).await? {
            return Ok(Some(refusal));
        }
        if let Some(refusal) = self.refused_by_check(on, table, column, &value).await? {
            return Ok(Some(refusal));
        }
        let references = &self.constraints.references;
        for reference in references.iter().filter(|reference| reference.column == column.name) {
            if let Some(refusal) = refused_by_reference(on, table, reference, &value, text).await? {
                return Ok(Some(refusal));
            }
        }
        Ok(None)
    }

    fn refused_by_type(&self, table: &Table<'_>, column: &ShapeColumn, value: &str) -> Option<Refusal> {
        let (_, labels) = self.constraints.enums.iter().find(|(known, _)| *known == column.name)?;
        let same = |label: &String| match table.dialect {
            // Compared in the column's collation, which usually ignores case.
            Dialect::Mysql => label.eq_ignore_ascii_case(value),
            Dialect::Postgres | Dialect::Sqlite => label == value,
        };
        if labels.iter().any(same) {
            return None;
        }
        let fix = (table.dialect == Dialect::Postgres)
            .then(|| format!("ALTER TYPE {} ADD VALUE {}", column.sql_type, table.text(value)));
        Some(Refusal {
            why: "its enumerated type has no such value".to_owned(),
            remedy: "add it",
            fix,
            // On PostgreSQL an enum cannot even be compared with a value that it does not have.
            incomparable: table.dialect == Dialect::Postgres,
        })
    }

    /// A cast applies the checks of a domain, and of those that it is made of.
    async fn refused_by_domain(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
        column: &ShapeColumn,
        literal: &Literal,
    ) -> Result<Option<Refusal>, Error> {
        let domain = self.constraints.domains.iter().find(|(known, _)| *known == column.name);
        let Some((_, domain)) = domain else { return Ok(None) };
        let literal = table.literal(literal);
        let sql = format!(
            "SELECT COUNT(*) FROM (SELECT CAST({literal} AS {domain}) AS v) AS t WHERE t.v IS NOT NULL"
        );
        match count(on, "try a domain", sql).await {
            Err(error) if error.class == Class::Transient => Err(error),
            Err(error) if error.class == Class::Permanent => Ok(Some(Refusal {
                why: format!("its domain {domain} refuses it"),
                remedy: "change the domain",
                fix: None,
                incomparable: false,
            })),
            // The domain may not be used here.
            Ok(_) | Err(_) => Ok(None),
        }
    }

    /// A constraint that also reads other columns cannot be decided by a value alone, and is skipped.
    async fn refused_by_check(
        &self,
        on: &impl Driver,
        table: &Table<'_>,
        column: &ShapeColumn,
        value: &str,
    ) -> Result<Option<Refusal>, Error> {
        let quoted = table.quote(&column.name);
        for check in self.constraints.checks.iter().filter(|check| check.contains(&column.name)) {
            let sql = format!("SELECT COUNT(*) FROM (SELECT {value} AS {quoted}) AS t WHERE NOT ({check})");
            match count(on, "try a CHECK constraint", sql).await {
                Ok(0) => {}
                Ok(_) => {
                    return Ok(Some(Refusal {
                        why: format!("the constraint CHECK ({check}) refuses it"),
                        remedy: "change the constraint",
                        fix: None,
                        incomparable: false,
                    }));
                }
                Err(error) if error.class == Class::Transient => return Err(error),
                // The expression names another column.
                Err(_) => {}
            }
        }
        Ok(None)
    }
}

fn too_long(table: &Table<'_>, column: &ShapeColumn, value: &str) -> Option<Refusal> {
    // SQLite ignores the length of a declared type.
    let most = declared_length(&column.sql_type).filter(|_| table.dialect != Dialect::Sqlite)?;
    let length = value.chars().count();
    (length > most).then(|| Refusal {
        why: format!("{} holds {most} characters, and this has {length}", column.sql_type),
        remedy: "make the column longer",
        fix: None,
        incomparable: false,
    })
}

async fn refused_by_reference(
    on: &impl Driver,
    table: &Table<'_>,
    reference: &Reference,
    value: &str,
    text: &str,
) -> Result<Option<Refusal>, Error> {
    let Reference { table: other, to, .. } = reference;
    let from = table.dialect.quoted_path(other);
    let sql = format!("SELECT COUNT(*) FROM {from} WHERE {} = {value}", table.quote(to));
    match count(on, "find a value that a foreign key needs", sql).await {
        Ok(0) => Ok(Some(Refusal {
            why: format!("a foreign key requires a row of {other} with {to} = `{text}`, and there is none"),
            remedy: "insert it",
            fix: None,
            incomparable: false,
        })),
        Err(error) if error.class == Class::Transient => Err(error),
        // The other table may not be read.
        Ok(_) | Err(_) => Ok(None),
    }
}

fn typed(table: &Table<'_>, column: &ShapeColumn, literal: &Literal) -> String {
    let value = table.literal(literal);
    match table.dialect {
        Dialect::Postgres => format!("CAST({value} AS {})", column::postgres_type(&column.sql_type)),
        Dialect::Mysql | Dialect::Sqlite => value,
    }
}
