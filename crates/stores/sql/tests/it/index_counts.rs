//! The number of indexes on the main table of each contract: every one costs writes, so none is added unnoticed.
//!
//! Counts every index that `migrate` creates, except the primary key, unique constraints, and those that the
//! specification of `emails` demands (`idx_status` and `idx_status_updated`).

use postrider_contract::Contract;
use postrider_sql::{Dialect, ddl};

const DIALECTS: [Dialect; 3] = [Dialect::Postgres, Dialect::Mysql, Dialect::Sqlite];

/// The contract, and its indexes on PostgreSQL, MySQL and SQLite. With an external queue, webhook jobs have more.
const EXPECTED: [(&str, [usize; 3]); 5] = [
    ("mail_outbox", [3, 2, 3]),
    ("dispatch_jobs", [5, 6, 5]),
    ("open_event_notifications", [4, 3, 4]),
    ("emails", [4, 1, 4]),
    ("outbox", [4, 4, 4]),
];

fn contract(name: &str) -> Contract {
    Contract::parse(name, Contract::builtin(name).expect("one of ours")).expect("it parses")
}

/// The names of the counted indexes.
fn indexes(contract: &Contract, dialect: Dialect) -> Vec<String> {
    let table = format!(" ON {} (", dialect.quoted(&contract.table.name));
    let statements = ddl::create(contract, dialect).expect("it renders");
    let ours = statements.iter().filter(|sql| sql.starts_with("CREATE INDEX ") && sql.contains(&table));
    let name = |sql: &String| {
        let head = sql.split(" ON ").next().unwrap_or_default();
        head.rsplit(' ').next().unwrap_or_default().trim_matches(['"', '`']).to_owned()
    };
    ours.map(name).filter(|name| !name.starts_with("idx_status")).collect()
}

#[test]
fn each_contract_has_few_indexes() {
    for (name, expected) in EXPECTED {
        for (dialect, expected) in DIALECTS.into_iter().zip(expected) {
            let found = indexes(&contract(name), dialect);
            assert_eq!(found.len(), expected, "{name} on {dialect:?}: {found:?}");
        }
    }
}

#[test]
fn a_queue_adds_few_indexes() {
    let queued = contract("dispatch_jobs").with_queue();
    let added =
        |dialect| indexes(&queued, dialect).len() - indexes(&contract("dispatch_jobs"), dialect).len();
    assert_eq!(DIALECTS.map(added), [4, 1, 4]);
}
