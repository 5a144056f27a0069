//! The suppression list, on any database. Without the internal table there is no list.

pub(crate) mod statements;

use std::collections::BTreeMap;

use async_trait::async_trait;
use postrider_seams::row::Value;
use postrider_seams::store::{Class, Error};
use postrider_seams::suppression::ENTRY_LIMIT;
use postrider_seams::{Suppression, Suppressions};

use self::statements as list;
use crate::driver::Driver;

/// Maximum length of a reason, in characters.
const REASON_LIMIT: usize = 500;

/// The suppression list of a database.
pub struct SuppressionList<D>(pub D);

impl<D: Driver> SuppressionList<D> {
    async fn is_there(&self, entry: &str) -> Result<bool, Error> {
        let found = self.find(&[entry.to_owned()]).await?.ok_or_else(no_list)?;
        Ok(!found.is_empty())
    }
}

#[async_trait]
impl<D: Driver> Suppressions for SuppressionList<D> {
    async fn find(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error> {
        // No entry is longer, and a database may reject a value that is longer than its column.
        let entries: Vec<&String> =
            entries.iter().filter(|entry| entry.chars().count() <= ENTRY_LIMIT).collect();
        let wanted = serde_json::to_string(&entries).expect("texts are JSON");
        let rows = self
            .0
            .read("read the suppression list", list::among(D::DIALECT), vec![Value::Text(wanted)])
            .await?;
        let pair = |row: Vec<Value>| match <[Value; 2]>::try_from(row) {
            Ok([Value::Text(entry), Value::Text(reason)]) => Some((entry, reason)),
            _ => None,
        };
        Ok(rows.map(|rows| rows.into_iter().filter_map(pair).collect()))
    }

    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error> {
        let there = self.is_there(entry).await?;
        let reason: String = reason.chars().take(REASON_LIMIT).collect();
        let args = vec![Value::Text(entry.to_owned()), Value::Text(reason)];
        self.0.query("write the suppression list", list::add(D::DIALECT), args).await?.ok_or_else(no_list)?;
        Ok(!there)
    }

    async fn remove(&self, entry: &str) -> Result<bool, Error> {
        let there = self.is_there(entry).await?;
        let args = vec![Value::Text(entry.to_owned())];
        self.0
            .query("write the suppression list", list::remove(D::DIALECT), args)
            .await?
            .ok_or_else(no_list)?;
        Ok(there)
    }

    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error> {
        let args = vec![Value::Text(after.unwrap_or_default().to_owned()), Value::Int(i64::from(limit))];
        let rows = self
            .0
            .read("read the suppression list", list::page(D::DIALECT), args)
            .await?
            .ok_or_else(no_list)?;
        let one = |row: Vec<Value>| match <[Value; 3]>::try_from(row) {
            Ok([Value::Text(entry), Value::Text(reason), Value::Text(since)]) => {
                Some(Suppression { entry, reason, since })
            }
            _ => None,
        };
        Ok(rows.into_iter().filter_map(one).collect())
    }
}

fn no_list() -> Error {
    let text =
        format!("there is no table {} to keep the list in: run `postrider migrate`", list::SUPPRESSIONS);
    Error::new(Class::Misconfigured, text)
}
