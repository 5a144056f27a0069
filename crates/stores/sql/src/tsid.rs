//! A time-sorted id made by the database, for effects of moves that no settlement describes.

use crate::Dialect;

const ALPHABET: &str = "'0123456789ABCDEFGHJKMNPQRSTVWXYZ'";

/// 13 Crockford characters: milliseconds since 2020, 10 bits of the session, 12 bits counted over the statement's
/// rows, so that rows of one millisecond differ.
pub(crate) fn expression(dialect: Dialect) -> String {
    let (millis, session) = match dialect {
        Dialect::Postgres => {
            ("floor(extract(epoch FROM now()) * 1000)::bigint", "(pg_backend_pid() & 1023)::bigint")
        }
        Dialect::Mysql => ("FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000)", "(CONNECTION_ID() & 1023)"),
        Dialect::Sqlite => ("CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)", "0"),
    };
    let number = format!(
        "((({millis}) - 1577836800000) * 4194304 + {session} * 4096 + ((row_number() OVER ()) & 4095))"
    );
    let number = if dialect == Dialect::Mysql { format!("CAST({number} AS UNSIGNED)") } else { number };
    let characters: Vec<String> = (0..13)
        .rev()
        .map(|place| {
            format!("substr({ALPHABET}, CAST(({number} >> {}) & 31 AS {}) + 1, 1)", place * 5, whole(dialect))
        })
        .collect();
    match dialect {
        Dialect::Mysql => format!("CONCAT({})", characters.join(", ")),
        Dialect::Postgres | Dialect::Sqlite => characters.join(" || "),
    }
}

fn whole(dialect: Dialect) -> &'static str {
    if dialect == Dialect::Mysql { "SIGNED" } else { "INTEGER" }
}
