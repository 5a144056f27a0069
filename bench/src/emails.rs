//! Measures the e-mail pipeline: mails/s of the real binary on MariaDB, per stage and through all of them; and the
//! requests to DynamoDB for one mail, with their price.

mod dynamodb;
mod stages;

use crate::report::Report;

/// Runs both measurements.
pub async fn run(report: Report, rounds: usize, rows: u64) {
    stages::run(report, rounds, rows).await;
    dynamodb::run(report).await;
}
