//! Binds lists of keys and names, as each dialect takes them.

use postrider_seams::row::RowId;

use super::execute::{Arg, Statement};
use crate::{Dialect, bind};

/// Values of a list: keys or texts.
pub(crate) trait Listed {
    fn arg(&self) -> Arg;
    fn json(values: &[Self]) -> String
    where
        Self: Sized;
}

impl Listed for RowId {
    fn arg(&self) -> Arg {
        self.into()
    }

    fn json(values: &[Self]) -> String {
        bind::json_ids(values)
    }
}

impl Listed for String {
    fn arg(&self) -> Arg {
        Arg::Text(Some(self.clone()))
    }

    fn json(values: &[Self]) -> String {
        bind::json_texts(values)
    }
}

/// Binds a list: an array on PostgreSQL, a JSON array on SQLite, one placeholder per value on MySQL.
pub(crate) fn list<T: Listed + ToString>(
    dialect: Dialect,
    statement: &mut Statement,
    mark: &str,
    values: &[T],
) {
    match dialect {
        Dialect::Postgres => {
            statement.args.push(Arg::Texts(values.iter().map(|value| Some(value.to_string())).collect()));
        }
        Dialect::Sqlite => statement.args.push(Arg::Text(Some(T::json(values)))),
        Dialect::Mysql => {
            // Few lengths, so that few statements are prepared. The last value is repeated.
            let room = values.len().next_power_of_two();
            // Keys that are bound as hexadecimal text are converted one by one.
            let converted = format!("UNHEX({mark})");
            let (mark, one) =
                if statement.sql.contains(&converted) { (&*converted, "UNHEX(?)") } else { (mark, "?") };
            if statement.sql.contains(mark) {
                statement.sql = statement.sql.replace(mark, &vec![one; room].join(", "));
            }
            let last = values.last().map_or(Arg::Text(None), Listed::arg);
            let padding = std::iter::repeat_n(last, room - values.len());
            statement.args.extend(values.iter().map(Listed::arg).chain(padding));
        }
    }
}
