//! Checks the URL of a store, and whether it can run a contract, without connecting.

use postrider_contract::Contract;
use postrider_target_options::OptionMistake;
use {
    postrider_store_mysql as mysql, postrider_store_postgres as postgres, postrider_store_sqlite as sqlite,
};

use super::StoreKind;
use super::optional::dynamodb;

/// Lists every mistake in the URL of a store of this kind.
pub fn store_mistakes(kind: StoreKind, url: &str) -> Vec<OptionMistake> {
    match kind {
        StoreKind::Postgres => postgres::url_mistakes(url),
        StoreKind::Mysql => mysql::url_mistakes(url),
        StoreKind::Sqlite => sqlite::url_mistakes(url),
        StoreKind::DynamoDb => dynamodb::mistakes(url),
    }
}

/// Lists the keys of a contract that a store of this kind has no use for, each with the reason.
pub fn unsupported_keys(kind: StoreKind, contract: &Contract) -> Vec<(&'static str, &'static str)> {
    match kind {
        StoreKind::Postgres | StoreKind::Mysql | StoreKind::Sqlite => Vec::new(),
        StoreKind::DynamoDb => dynamodb::unsupported_keys(contract),
    }
}
