//! The suppression list, on any database. Without the internal table there is no list.

pub(crate) mod statements;

use std::collections::BTreeMap;

use async_trait::async_trait;
use postrider_seams::store::{Class, Error};
use postrider_seams::suppression::ENTRY_LIMIT;
use postrider_seams::{Suppression, Suppressions};

use self::statements as list;
use crate::driver::execute::Statement;
use crate::driver::{Access, Driver};
use crate::typed::{Columns, Row};

/// Maximum length of a reason, in characters.
const REASON_LIMIT: usize = 500;

/// The suppression list of a database.
pub struct SuppressionList<D>(pub D);

impl<D: Driver> SuppressionList<D> {
    async fn is_there(&self, entry: &str) -> Result<bool, Error> {
        let found = self.find(&[entry.to_owned()]).await?.ok_or_else(no_list)?;
        Ok(!found.is_empty())
    }

    async fn read(&self, query: Statement) -> Result<Option<Vec<Row>>, Error> {
        self.0.internal("read the suppression list", Access::Read, query).await
    }

    async fn write(&self, statement: Statement) -> Result<(), Error> {
        let written = self.0.internal("write the suppression list", Access::Write, statement).await?;
        written.map(drop).ok_or_else(no_list)
    }
}

#[async_trait]
impl<D: Driver> Suppressions for SuppressionList<D> {
    async fn find(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error> {
        // No entry is longer, and a database may reject a value that is longer than its column.
        let entries: Vec<&String> =
            entries.iter().filter(|entry| entry.chars().count() <= ENTRY_LIMIT).collect();
        let rows = self.read(list::among(D::DIALECT, &entries)).await?;
        let pair = |row| {
            let mut row = Columns::new(row);
            Some((row.text()?, row.text()?))
        };
        Ok(rows.map(|rows| rows.into_iter().filter_map(pair).collect()))
    }

    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error> {
        let there = self.is_there(entry).await?;
        let reason: String = reason.chars().take(REASON_LIMIT).collect();
        self.write(list::add(D::DIALECT, entry, &reason)).await?;
        Ok(!there)
    }

    async fn remove(&self, entry: &str) -> Result<bool, Error> {
        let there = self.is_there(entry).await?;
        self.write(list::remove(D::DIALECT, entry)).await?;
        Ok(there)
    }

    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error> {
        let rows = self.read(list::page(D::DIALECT, after.unwrap_or_default(), limit)).await?;
        let one = |row| {
            let mut row = Columns::new(row);
            Some(Suppression { entry: row.text()?, reason: row.text()?, since: row.text()? })
        };
        Ok(rows.ok_or_else(no_list)?.into_iter().filter_map(one).collect())
    }
}

fn no_list() -> Error {
    let text =
        format!("there is no table {} to keep the list in: run `postrider migrate`", list::SUPPRESSIONS);
    Error::new(Class::Misconfigured, text)
}
