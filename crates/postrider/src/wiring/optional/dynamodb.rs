//! DynamoDB.

use postrider_seams::store::{Class, Error};
use postrider_store_dynamodb::{Database as DynamoDb, Settings};
use postrider_target_options::OptionMistake;

use super::super::Database;

pub(in crate::wiring) use postrider_store_dynamodb::unsupported_keys;

/// Connects at first use.
pub(in crate::wiring) fn connect(url: &str) -> Result<Database, Error> {
    let settings =
        Settings::from_url(url).map_err(|mistakes| Error::new(Class::Misconfigured, mistakes.to_string()))?;
    Ok(Database::DynamoDb(DynamoDb::connect(&settings)))
}

/// Lists every mistake in the URL.
pub(in crate::wiring) fn mistakes(url: &str) -> Vec<OptionMistake> {
    Settings::from_url(url).err().map(|error| error.mistakes).unwrap_or_default()
}

/// The refusal of a description: no columns could be read.
pub(in crate::wiring) fn no_description(store: &str) -> Error {
    Error::new(Class::Misconfigured, format!("{store} is DynamoDB, whose tables are described by no columns"))
}

/// The refusal of the API's tables.
pub(in crate::wiring) fn no_internal_tables(store: &str) -> Error {
    let text = format!("[server] api: {store} is DynamoDB; the API needs PostgreSQL, MySQL or SQLite");
    Error::new(Class::Misconfigured, text)
}
