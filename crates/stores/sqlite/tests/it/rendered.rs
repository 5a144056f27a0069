use postrider_contract::Contract;
use postrider_contract::Transition;
use postrider_seams::migrate::{Migrate as _, MigrateOptions};
use postrider_seams::row::{Lease, RowId, Value};
use postrider_seams::store::Settlement;
use postrider_sql::bind::Values;
use postrider_sql::driver::Driver as _;

use crate::file::{File, contract, settlement};

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
            let given = Values { limit: 10, since: Some(60.0), ..Values::ids("tester", vec![id.clone()]) };
            for (what, script) in program.scripts() {
                let given = Values { limit: 10, ..given.clone() };
                database
                    .run(what, script, &given)
                    .await
                    .unwrap_or_else(|error| panic!("{name} {what}: {error}"));
                ran += 1;
            }
            let fence = stage.lease.fence.iter().map(|role| fence_value(role.is_time())).collect();
            let lease = Lease { id, fence };
            if let Some(script) = &program.extend {
                let given = Values::leases("tester", vec![&lease]);
                database
                    .run("extend", script, &given)
                    .await
                    .unwrap_or_else(|error| panic!("{name}: {error}"));
            }
            for (transition, settle) in &program.settle {
                let one: Settlement = settlement(&lease, *transition);
                for script in settle.uniform.iter().chain([&settle.each]) {
                    let given = Values::settlements("tester", vec![&one]);
                    let done = database.run("settle", script, &given).await;
                    done.unwrap_or_else(|error| panic!("{name} {}: {error}", Transition::name(*transition)));
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
