//! Renders names and literals as SQL text: validated first and always quoted, so that reserved words and camelCase work
//! and no name can end its quotes.

use postrider_contract::Literal;

use crate::{Dialect, Error};

/// Maximum length of a name in bytes: PostgreSQL truncates longer names without an error.
const LONGEST: usize = 63;

/// Checks that a name has only allowed characters and a valid length.
pub(crate) fn check(name: &str) -> Result<(), Error> {
    let fine = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$' | '-' | ' ');
    if name.trim().is_empty() || name.len() > LONGEST || !name.chars().all(fine) {
        return Err(Error::Identifier(name.to_owned()));
    }
    Ok(())
}

/// Returns a generated name truncated to the length that every database accepts, with a hash of the full name.
pub(crate) fn bounded(name: &str) -> String {
    if name.len() <= LONGEST {
        return name.to_owned();
    }
    // FNV-1a: stable over releases, unlike the standard library's hashes.
    let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mut end = LONGEST - 9;
    while !name.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}_{:08x}", &name[..end], hash & 0xffff_ffff)
}

pub(crate) fn check_text(text: &str) -> Result<(), Error> {
    if text.chars().any(char::is_control)
        || text.contains("{ids}")
        || text.contains("{held}")
        || text.contains("{pools}")
    {
        return Err(Error::Literal(text.to_owned()));
    }
    Ok(())
}

/// Quotes a text literal that [`check_text`] has passed.
pub(crate) fn text(dialect: Dialect, text: &str) -> String {
    let doubled = text.replace('\'', "''");
    match dialect {
        // MySQL treats a backslash as an escape character, unless the session says otherwise.
        Dialect::Mysql => format!("'{}'", doubled.replace('\\', "\\\\")),
        Dialect::Postgres | Dialect::Sqlite => format!("'{doubled}'"),
    }
}

pub(crate) fn literal(dialect: Dialect, value: &Literal) -> String {
    match value {
        Literal::Bool(value) => match (dialect, value) {
            (Dialect::Sqlite, true) => "1".to_owned(),
            (Dialect::Sqlite, false) => "0".to_owned(),
            (_, true) => "TRUE".to_owned(),
            (_, false) => "FALSE".to_owned(),
        },
        Literal::Int(value) => value.to_string(),
        Literal::Float(value) => format!("{value:?}"),
        Literal::Text(value) => text(dialect, value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_can_not_end_its_quotes() {
        for name in ["a\"b", "a`b", "a'b", "a;b", "", " ", "a\0", &"x".repeat(64)] {
            assert_eq!(check(name), Err(Error::Identifier(name.to_owned())), "{name:?}");
        }
        for name in ["order", "größe", "next attempt", "a-b", "$x"] {
            assert_eq!(check(name), Ok(()), "{name:?}");
        }
    }

    #[test]
    fn a_text_literal_can_not_end_its_quotes() {
        assert_eq!(text(Dialect::Postgres, "it's \\"), "'it''s \\'");
        assert_eq!(text(Dialect::Mysql, "it's \\"), "'it''s \\\\'");
        assert!(check_text("a\nb").is_err());
        assert!(check_text("x {ids} y").is_err());
    }
}
