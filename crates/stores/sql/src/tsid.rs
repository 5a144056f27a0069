//! A time-sorted id made by the database, for effects of moves that no settlement describes.

use crate::Dialect;

const ALPHABET: &str = "'0123456789ABCDEFGHJKMNPQRSTVWXYZ'";

/// 13 Crockford characters: milliseconds since 2020, 10 bits that differ from statement to statement, 12 bits counted over
/// the statement's rows, which carry into the milliseconds. All parts are constant within a statement: the number stands in the text once a character.
pub(crate) fn expression(dialect: Dialect) -> String {
    let (millis, statement) = match dialect {
        Dialect::Postgres => (
            "floor(extract(epoch FROM now()) * 1000)::bigint",
            "((floor(extract(epoch FROM now()) * 1000000)::bigint + pg_backend_pid()) & 1023)",
        ),
        Dialect::Mysql => (
            "FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000)",
            "((FLOOR(UNIX_TIMESTAMP(UTC_TIMESTAMP(6)) * 1000000) + CONNECTION_ID()) & 1023)",
        ),
        // One writer, whose changes count on from statement to statement.
        Dialect::Sqlite => (
            "CAST(round((julianday('now') - 2440587.5) * 86400000.0) AS INTEGER)",
            "(total_changes() & 1023)",
        ),
    };
    let number = format!(
        "((({millis}) - 1577836800000 + ((row_number() OVER ()) >> 12)) * 4194304 + {statement} * 4096 + \
         ((row_number() OVER ()) & 4095))"
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
