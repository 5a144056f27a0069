//! Counts the requests to DynamoDB for one mail on its way through three stages, and the price of a million mails.
//!
//! On demand, prices of us-east-1 (November 2024): a million write units 0.625 $, a million read units 0.125 $. A
//! move is one transaction over two records of less than 1 KB, each charged twice, and each written to the index as
//! well: six units. A page of the index is up to a hundred records of about 400 bytes, with eventually consistent
//! reads: five units.

use std::sync::Arc;

use postrider_composers::NullComposer;
use postrider_contract::Contract;
use postrider_seams::row::Detail;
use postrider_seams::{Migrate as _, Produce as _, migrate};
use postrider_store_dynamodb::{Database, Settings, adapted};

use crate::lane::{NoOp, drain, lane, limits};
use crate::report::{Figure, Report};
use crate::servers::variable;

/// Mails of a run. Few, because the emulator copies its whole table for every transaction.
const ROWS: u64 = 200;
const BATCH: u32 = 25;
const STAGES: [&str; 3] = ["intake", "send", "sent_callback"];

const WRITE_UNITS: f64 = 6.0;
const READ_UNITS: f64 = 5.0;
const WRITE_PRICE: f64 = 0.625;
const READ_PRICE: f64 = 0.125;

/// Counts the requests and prints the price.
pub async fn run(report: Report) {
    let settings = Settings::from_url(&variable("POSTRIDER_TEST_DYNAMODB")).expect("the emulator's URL");
    let database = Database::connect(&settings);
    let text = Contract::builtin("emails").expect("a built-in");
    let mut contract = Contract::parse("emails.toml", text).expect("a built-in contract is valid");
    contract.table.name = format!("bench_{}", std::process::id());
    database.migration(contract.clone()).apply(migrate::MigrateOptions::default()).await.expect("migrated");
    let intake = database.open(contract.clone(), STAGES[0], "bench").await.expect("opened");
    for _ in 0..ROWS {
        intake.produce(&Detail::new()).await.expect("written");
    }
    let before = database.usage();
    for (index, stage) in STAGES.iter().enumerate() {
        Report::progress(&format!("dynamodb, {stage}, {ROWS} mails"));
        let store = database.open(contract.clone(), stage, "bench").await.expect("opened");
        let contract = adapted(contract.clone()).expect("the layout is there");
        let mut lane = lane(&contract, store, Arc::new(NullComposer), Arc::new(NoOp), limits(BATCH));
        lane.stage = index;
        drain(lane, ROWS).await;
    }
    let after = database.usage();
    #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
    let per_mail = |after: u64, before: u64| (after - before) as f64 / ROWS as f64;
    // Include the transaction that accepted the mail.
    let writes = per_mail(after.writes, before.writes) + 1.0;
    let reads = per_mail(after.reads, before.reads);
    let cost = writes * WRITE_UNITS * WRITE_PRICE + reads * READ_UNITS * READ_PRICE;
    report.print(&Figure::new("emails", "dynamodb, transactions per mail", writes, "requests"));
    report.print(&Figure::new("emails", "dynamodb, reads per mail", reads, "requests"));
    report.print(&Figure::new("emails", "dynamodb, a million mails, us-east-1 on demand", cost, "$"));
}
