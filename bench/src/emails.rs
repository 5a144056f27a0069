//! The e-mail pipeline: mails/s of the real binary on MariaDB, stage by stage and through all of them; and what DynamoDB is
//! asked for one mail, with what that costs.

mod records;
mod stages;

use crate::report::Report;

pub async fn run(report: Report, rounds: usize, rows: u64) {
    stages::run(report, rounds, rows).await;
    records::run(report).await;
}
