//! The parameters that statements of several verbs bind.

use std::borrow::Cow;

use postrider_seams::row::{RowId, Value};

use super::values::{json_rows, text};
use crate::driver::execute::Arg;
use crate::typed::{Bound, Params};
use crate::{Dialect, Field, Param};

/// No parameters except the worker's id, which every statement can bind.
impl Params for () {
    fn value(&self, _: &Param, _: Dialect) -> Option<Bound<'_>> {
        None
    }
}

/// Maximum number of rows.
#[derive(Debug, Clone, Copy)]
pub struct Limit(pub u32);

impl Params for Limit {
    fn value(&self, param: &Param, _: Dialect) -> Option<Bound<'_>> {
        (*param == Param::Limit).then(|| Bound::int(self.0))
    }
}

/// The keys of the rows to work on.
#[derive(Debug, Clone, Copy)]
pub struct Ids<'a>(pub &'a [RowId]);

impl Params for Ids<'_> {
    fn value(&self, param: &Param, _: Dialect) -> Option<Bound<'_>> {
        (*param == Param::Ids).then_some(Bound::Keys(Cow::Borrowed(self.0)))
    }
}

/// Returns the value of a parameter that stands for a field of every row; `None` for other parameters.
pub(crate) fn field_value<T>(
    rows: &[T],
    value: impl Fn(&T, &Field) -> Value,
    param: &Param,
    dialect: Dialect,
) -> Option<Bound<'static>> {
    let first = || rows.first().expect("a statement about rows names at least one");
    let arg = match param {
        Param::Array(Field::Delay) => {
            Arg::Floats(rows.iter().map(|row| seconds(&value(row, &Field::Delay))).collect())
        }
        Param::Array(field) => Arg::Texts(rows.iter().map(|row| text(value(row, field))).collect()),
        Param::Rows(fields) => Arg::Text(Some(json_rows(rows, fields, value))),
        Param::One(Field::Delay) => Arg::Float(seconds(&value(first(), &Field::Delay))),
        Param::One(field) => field_arg(value(first(), field), dialect),
        _ => return None,
    };
    Some(Bound::One(arg))
}

/// Returns the value of a field as an argument. A field without a value is a text that is NULL.
///
/// PostgreSQL casts texts to the column's type.
pub(crate) fn field_arg(value: Value, dialect: Dialect) -> Arg {
    match value {
        value if dialect == Dialect::Postgres => Arg::Text(text(value)),
        Value::Int(number) => Arg::Int(Some(number)),
        Value::Float(number) => Arg::Float(Some(number)),
        Value::Bool(flag) => Arg::Flag(flag),
        Value::Bytes(bytes) => Arg::Bytes(bytes),
        value @ (Value::Null | Value::Text(_)) => Arg::Text(text(value)),
    }
}

fn seconds(value: &Value) -> Option<f64> {
    match value {
        Value::Float(number) => Some(*number),
        Value::Null => None,
        // NULL would mean no delay at all.
        other => unreachable!("{other:?} is no number of seconds"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_is_bound_as_it_is() {
        assert_eq!(
            [Value::Float(1.5), Value::Null].iter().map(seconds).collect::<Vec<_>>(),
            [Some(1.5), None]
        );
    }

    #[test]
    #[should_panic(expected = "is no number of seconds")]
    fn an_unknown_value_is_never_bound_as_null() {
        seconds(&Value::Int(3));
    }
}
