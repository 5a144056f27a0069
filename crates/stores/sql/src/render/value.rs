//! Renders the values that columns are set to: the contract's `Set` and `Expr`, in the column's type.

use postrider_contract::{Assignment, ColumnRole, Expr, Literal, Move, STORED_RECIPIENTS, Set};

use crate::render::column::{self, Kind, Time};
use crate::render::step_builder::{Source, StepBuilder};
use crate::render::text_column;
use crate::render::time::{Shift, micros};
use crate::{Dialect, Field, Param, ShapeColumn};

/// The column that a value is written to. A column of an effect's table whose type is unknown is treated as text.
#[derive(Clone, Copy)]
pub(crate) struct TargetColumn<'a> {
    pub column: Option<&'a ShapeColumn>,
    /// Whether it is a column of an effect's table, filled after the move.
    pub effect: bool,
}

impl TargetColumn<'_> {
    fn kind(self) -> Kind {
        self.column.map_or(Kind::Text, |column| Kind::of(&column.sql_type))
    }
}

/// A move with all its assignments, because some values depend on others.
pub(crate) struct Writes<'a> {
    pub step: Move<'a>,
    pub assignments: Vec<Assignment>,
}

impl<'a> Writes<'a> {
    /// A move with the assignments that the contract has for it.
    pub fn of(contract: &postrider_contract::Contract, step: Move<'a>) -> Self {
        Self { step, assignments: contract.assignments(&step) }
    }

    /// Returns the assignment to a column; `None` if the move does not write it.
    pub fn set_of(&self, column: &str) -> Option<&Set> {
        self.assignments.iter().find(|known| known.column == column).map(|known| &known.set)
    }
}

impl StepBuilder<'_> {
    /// Returns `column = value, …`. MySQL assigns from left to right, so values that read other columns come first.
    pub fn set_list(&self, writes: &Writes<'_>) -> String {
        let reads = |assignment: &&Assignment| {
            matches!(
                assignment.set,
                Set::Expr(_)
                    | Set::ExprOrKeep(_)
                    | Set::ExprIfNull(_)
                    | Set::Plus(_)
                    | Set::TakeOver
                    | Set::Poisoned
            )
        };
        let first = writes.assignments.iter().filter(reads);
        let rest = writes.assignments.iter().filter(|assignment| !reads(assignment));
        let sets: Vec<String> = first
            .chain(rest)
            .filter_map(|assignment| {
                let value = self.set(&assignment.column, &assignment.set, writes)?;
                let name = self.table.quote(&assignment.column);
                let name = if self.table.dialect == Dialect::Mysql { format!("t.{name}") } else { name };
                Some(format!("{name} = {value}"))
            })
            .collect();
        sets.join(", ")
    }

    /// Returns the value that an assignment writes; `None` if the column stays unchanged.
    pub fn set(&self, column: &str, set: &Set, writes: &Writes<'_>) -> Option<String> {
        let table = self.table;
        let (col, shape) = (table.col(column), table.shape_of(column));
        let target = TargetColumn { column: Some(shape), effect: false };
        let lease = micros(table.stage.lease.duration);
        let delay = |micros| Shift::Values { seconds: self.field(Field::Delay), micros };
        let number = if shape.nullable { format!("COALESCE({col}, 0)") } else { col.clone() };
        Some(match set {
            Set::Null => "NULL".to_owned(),
            Set::Literal(literal) => table.literal(literal),
            Set::ByAttempts(untried, tried) => {
                let attempts =
                    table.contract.column(ColumnRole::Attempts).expect("proved: the contract counts");
                let (attempts, untried, tried) =
                    (table.col(attempts), table.literal(untried), table.literal(tried));
                format!("CASE WHEN COALESCE({attempts}, 0) = 0 THEN {untried} ELSE {tried} END")
            }
            Set::Now => table.moment(column, &Shift::NOW),
            Set::NowLater => self.claim_time(column).unwrap_or_else(|| table.later(column, &Shift::NOW)),
            Set::LeaseEnd => {
                self.claim_time(column).unwrap_or_else(|| table.later(column, &Shift::Micros(lease)))
            }
            Set::AfterDelay => table.moment(column, &delay(0)),
            Set::LockForDelay => table.moment(column, &delay(-lease)),
            Set::NowIfNull => {
                table.time(column)?;
                format!("COALESCE({col}, {})", table.moment(column, &Shift::NOW))
            }
            Set::Never => table.never(column),
            // A version at its maximum restarts at 1: a row that cannot be claimed would hold up all others.
            Set::Increment if table.contract.column(ColumnRole::Version) == Some(column) => {
                format!("CASE WHEN {number} < {} THEN {number} + 1 ELSE 1 END", i32::MAX)
            }
            Set::Increment => format!("{number} + 1"),
            Set::Decrement => format!("CASE WHEN {col} > 0 THEN {col} - 1 ELSE 0 END"),
            Set::Worker => self.text_into(target, &self.worker(), false),
            Set::Reason => self.text_into(target, &self.field(Field::Reason), true),
            Set::Receipt => self.text_into(target, &self.field(Field::Receipt), true),
            Set::Plus(value) => format!("{number} + COALESCE({}, 0)", self.expr(value, target, writes)),
            Set::Expr(value) => self.expr(value, target, writes),
            Set::ExprOrKeep(value) => match self.expr(value, target, writes).as_str() {
                "NULL" => return None,
                value => format!("COALESCE({value}, {col})"),
            },
            Set::ExprIfNull(value) => format!("COALESCE({col}, {})", self.expr(value, target, writes)),
            Set::TakeOver => self.take_over(column)?,
            Set::Poisoned => self.poisoned(column)?,
        })
    }

    /// MySQL: the claim time is bound, so that it need not be read back.
    fn claim_time(&self, column: &str) -> Option<String> {
        let claims = self.claims_with_bound_time.get();
        let fenced = self.table.fence().iter().any(|(_, fenced)| *fenced == column);
        (claims && fenced).then(|| self.bind(Param::ClaimTime))
    }

    /// Returns this worker's id as a bound text.
    pub fn worker(&self) -> String {
        let owner = self.bind(Param::Owner);
        if self.table.dialect == Dialect::Postgres { format!("{owner}::text") } else { owner }
    }

    /// Returns an expression of the contract as SQL, in the type of the target column.
    pub fn expr(&self, expr: &Expr, target: TargetColumn<'_>, writes: &Writes<'_>) -> String {
        let table = self.table;
        match expr {
            Expr::Null => null(),
            Expr::Literal(literal) => table.literal(literal),
            Expr::Now => self.now_for(target),
            Expr::Id => table.id(),
            Expr::State => self.status_after(writes),
            Expr::From => match writes.step.from {
                [one] => table.status_literal(*one).map_or_else(null, |literal| table.literal(literal)),
                several => unreachable!("proved: `$from` of {several:?} is refused"),
            },
            Expr::Reason { .. } => self.text_into(target, &self.field(Field::Reason), true),
            Expr::Attempts => self.attempts_after(target, writes),
            Expr::ClaimedAt => self.claimed_at(writes),
            Expr::Worker => self.text_into(target, &self.worker(), false),
            Expr::Tsid => match self.source {
                Source::Contract { .. } => crate::render::tsid::expression(table.dialect),
                Source::Each | Source::Uniform => self.field(Field::Tsid),
            },
            Expr::Row { column, .. } => table.col(column),
            Expr::Envelope { field, .. } => {
                self.text_into(target, &self.field(Field::Envelope(field.clone())), false)
            }
            // Who has a mail must not be truncated: the engine knows the column's limit.
            Expr::Outcome { field, .. }
                if target.kind() == Kind::Text && (field == "recipients" || field == STORED_RECIPIENTS) =>
            {
                self.field(Field::Outcome(field.clone()))
            }
            Expr::Outcome { field, .. } => {
                self.text_into(target, &self.field(Field::Outcome(field.clone())), false)
            }
            Expr::Json(members) => self.object_into(target, members, writes),
        }
    }

    fn status_after(&self, writes: &Writes<'_>) -> String {
        let table = self.table;
        match writes.step.to.and_then(|state| table.status_literal(state)) {
            Some(literal) => table.literal(literal),
            None => table.role(ColumnRole::Status).unwrap_or_else(null),
        }
    }

    /// The number of attempts including the one that this move counts.
    fn attempts_after(&self, target: TargetColumn<'_>, writes: &Writes<'_>) -> String {
        let Some(column) = self.table.contract.column(ColumnRole::Attempts) else { return null() };
        let counted = writes.set_of(column) == Some(&Set::Increment);
        let attempts = self.table.attempts().unwrap_or_else(null);
        // An effect reads the row after the move, or a deleted row as it was.
        let is_counted = target.effect && !self.table.contract.deletes(&writes.step);
        if counted && !is_counted { format!("{attempts} + 1") } else { attempts }
    }

    /// The claim time; a move that clears the column reads it from the fence.
    fn claimed_at(&self, writes: &Writes<'_>) -> String {
        // An optional column that this table lacks.
        let Some(column) = self.table.contract.column(ColumnRole::ClaimedAt) else { return null() };
        if writes.set_of(column).is_none() {
            return self.table.col(column);
        }
        let fence = self.table.fence().iter().position(|(role, _)| *role == ColumnRole::ClaimedAt);
        match (&self.source, fence) {
            (Source::Each | Source::Uniform, Some(index)) => self.typed(Field::Fence(index), column),
            _ => unreachable!("proved: `$claimed_at` without a fence is refused"),
        }
    }

    fn now_for(&self, target: TargetColumn<'_>) -> String {
        let table = self.table;
        let times = &table.contract.table;
        let own_form =
            |column: &ShapeColumn| if target.effect { times.time } else { times.time_of(&column.name) };
        let form =
            target.column.and_then(|column| column::time(table.dialect, own_form(column), column).ok());
        match (form, target.column) {
            // A column without a role is no time to us, whatever its type: its form is guessed, as for an effect's
            // column.
            (Some(_), Some(column)) if !target.effect && table.time(&column.name).is_some() => {
                table.moment(&column.name, &Shift::NOW)
            }
            (form, _) => table.now_as(form.unwrap_or(Time::Zoned { digits: 6 })),
        }
    }

    /// Returns text in the target's type, truncated to what it holds: one long reason must not fail a batch.
    pub fn text_into(&self, target: TargetColumn<'_>, text: &str, plain: bool) -> String {
        if text == "NULL" {
            return null();
        }
        let dialect = self.table.dialect;
        match (dialect, target.kind()) {
            (Dialect::Sqlite, _) => text.to_owned(),
            (_, Kind::Text) => match target.column {
                Some(column) => text_column::fitting(dialect, column, text),
                None => text.to_owned(),
            },
            (Dialect::Postgres, Kind::Json) if plain => format!("to_json({text}){}", cast(target)),
            (Dialect::Mysql, Kind::Json) if plain => format!("JSON_QUOTE({text})"),
            (Dialect::Postgres, _) => format!("({text}){}", cast(target)),
            (Dialect::Mysql, _) => text.to_owned(),
        }
    }

    fn object_into(
        &self,
        target: TargetColumn<'_>,
        members: &[(String, Expr)],
        writes: &Writes<'_>,
    ) -> String {
        let object = self.object(members, writes);
        match (self.table.dialect, target.kind()) {
            (Dialect::Postgres, Kind::Json) => format!("{object}{}", cast(target)),
            (Dialect::Postgres, _) => format!("{object}::text"),
            (Dialect::Mysql | Dialect::Sqlite, _) => object,
        }
    }

    /// A JSON object without the members that are absent.
    fn object(&self, members: &[(String, Expr)], writes: &Writes<'_>) -> String {
        let pairs: Vec<String> = members
            .iter()
            .map(|(name, value)| format!("{}, {}", self.table.text(name), self.member(value, writes)))
            .collect();
        let pairs = pairs.join(", ");
        match self.table.dialect {
            Dialect::Postgres => format!("json_strip_nulls(json_build_object({pairs}))"),
            Dialect::Mysql => format!("JSON_MERGE_PATCH('{{}}', JSON_OBJECT({pairs}))"),
            Dialect::Sqlite => format!("json_patch('{{}}', json_object({pairs}))"),
        }
    }

    fn member(&self, value: &Expr, writes: &Writes<'_>) -> String {
        let text = TargetColumn { column: None, effect: false };
        let dialect = self.table.dialect;
        let encoded = |field: Field| {
            let value = self.field(Field::Json(Box::new(field)));
            match dialect {
                Dialect::Postgres => format!("({value})::json"),
                Dialect::Mysql => format!("JSON_EXTRACT({value}, '$')"),
                Dialect::Sqlite => format!("json({value})"),
            }
        };
        match value {
            Expr::Envelope { field, .. } => encoded(Field::Envelope(field.clone())),
            Expr::Outcome { field, .. } => encoded(Field::Outcome(field.clone())),
            Expr::Json(members) => self.object(members, writes),
            Expr::Now => self.table.now_as(Time::Iso),
            Expr::Literal(Literal::Text(text)) if dialect == Dialect::Postgres => {
                format!("{}::text", self.table.text(text))
            }
            other => self.expr(other, text, writes),
        }
    }
}

fn cast(target: TargetColumn<'_>) -> String {
    target.column.map_or_else(String::new, |column| format!("::{}", column::postgres_type(&column.sql_type)))
}

fn null() -> String {
    "NULL".to_owned()
}
