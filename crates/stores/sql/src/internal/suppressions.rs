//! The suppression list, on any database. Without the internal table there is no list.

pub(crate) mod statements;

use std::collections::BTreeMap;

use postrider_seams::Suppression;
use postrider_seams::row::Value;
use postrider_seams::store::{Class, Error};
use postrider_seams::suppression::ENTRY_LIMIT;

use self::statements as list;
use crate::driver::Driver;

/// Maximum length of a reason, in characters.
const REASON_LIMIT: usize = 500;

/// Returns those of the entries that are listed, with their reasons; `None` if the table does not exist.
pub async fn among(on: &impl Driver, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error> {
    // No entry is longer, and a database may reject a value that is longer than its column.
    let entries: Vec<&String> = entries.iter().filter(|entry| entry.chars().count() <= ENTRY_LIMIT).collect();
    let wanted = serde_json::to_string(&entries).expect("texts are JSON");
    let rows =
        on.read("read the suppression list", list::among(on.dialect()), vec![Value::Text(wanted)]).await?;
    let pair = |row: Vec<Value>| match <[Value; 2]>::try_from(row) {
        Ok([Value::Text(entry), Value::Text(reason)]) => Some((entry, reason)),
        _ => None,
    };
    Ok(rows.map(|rows| rows.into_iter().filter_map(pair).collect()))
}

/// Adds an entry; returns false if it was already listed. Errs without the table.
pub async fn add(on: &impl Driver, entry: &str, reason: &str) -> Result<bool, Error> {
    let there = is_there(on, entry).await?;
    let reason: String = reason.chars().take(REASON_LIMIT).collect();
    let args = vec![Value::Text(entry.to_owned()), Value::Text(reason)];
    on.query("write the suppression list", list::add(on.dialect()), args).await?.ok_or_else(no_list)?;
    Ok(!there)
}

/// Removes an entry; returns false if it was not listed. Errs without the table.
pub async fn remove(on: &impl Driver, entry: &str) -> Result<bool, Error> {
    let there = is_there(on, entry).await?;
    let args = vec![Value::Text(entry.to_owned())];
    on.query("write the suppression list", list::remove(on.dialect()), args).await?.ok_or_else(no_list)?;
    Ok(there)
}

/// Returns one page, in the order of the entries. Errs without the table.
pub async fn page(on: &impl Driver, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error> {
    let args = vec![Value::Text(after.unwrap_or_default().to_owned()), Value::Int(i64::from(limit))];
    let rows =
        on.read("read the suppression list", list::page(on.dialect()), args).await?.ok_or_else(no_list)?;
    let one = |row: Vec<Value>| match <[Value; 3]>::try_from(row) {
        Ok([Value::Text(entry), Value::Text(reason), Value::Text(since)]) => {
            Some(Suppression { entry, reason, since })
        }
        _ => None,
    };
    Ok(rows.into_iter().filter_map(one).collect())
}

async fn is_there(on: &impl Driver, entry: &str) -> Result<bool, Error> {
    let found = among(on, &[entry.to_owned()]).await?.ok_or_else(no_list)?;
    Ok(!found.is_empty())
}

fn no_list() -> Error {
    let text =
        format!("there is no table {} to keep the list in: run `postrider migrate`", list::SUPPRESSIONS);
    Error::new(Class::Misconfigured, text)
}
