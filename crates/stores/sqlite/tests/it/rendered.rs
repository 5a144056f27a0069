use postrider_contract::Contract;
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::row::{Lease, RowId, Value};
use postrider_sql::Dialect;
use postrider_sql::driver::execute::Execute as _;

use crate::file::{File, contract};

#[tokio::test(flavor = "multi_thread")]
async fn every_statement_of_every_contract_runs() {
    let file = File::new();
    let database = file.database();
    let mut ran = 0;
    for name in Contract::builtin_names() {
        database.migration(contract(name)).apply(MigrateOptions::default()).await.expect(name);
        for stage in contract(name).stages {
            let store = database.open(contract(name), &stage.name, name).await.expect(name);
            let program = &store.opened().statements;
            let integer = program.layout.integer_id;
            let id = if integer { RowId::Int(1) } else { RowId::Text(key_of(name).into()) };
            let fence = stage.lease.fence.iter().map(|role| fence_value(role.is_time())).collect();
            let lease = Lease { id, fence };
            for sample in program.samples(Dialect::Sqlite, &lease) {
                // The table of pools belongs to the hub.
                if sample.statements.iter().any(|statement| statement.sql.contains("dispatch_pools")) {
                    continue;
                }
                for statement in sample.statements {
                    let done = database.transact(&sample.title, std::slice::from_ref(&statement)).await;
                    done.unwrap_or_else(|error| panic!("{name} {}: {error}", sample.title));
                    ran += 1;
                }
            }
        }
    }
    assert!(ran > 200, "{ran}");
}

fn fence_value(time: bool) -> Value {
    Value::Text(if time { "2026-01-01 00:00:00" } else { "1" }.to_owned())
}

/// A key that the key column accepts.
fn key_of(contract: &str) -> &'static str {
    match contract {
        "emails" => "00000000-0000-0000-0000-000000000001",
        _ => "0000000000001",
    }
}
