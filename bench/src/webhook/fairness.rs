//! Measures how long ten jobs of one client take while a million jobs of another wait: from their insert to the last
//! recorded attempt, by PostgreSQL's clock, while the real binary delivers the backlog.

use std::time::Duration;

use super::sink::Sink;
use super::table::JobTables;
use crate::binary;
use crate::report::{Figure, Report};

/// Jobs of the backlog that are delivered before the ten jobs are inserted.
const DELIVERED_FIRST: u64 = 500;

/// Measures with a backlog of this many rows.
pub async fn run(report: Report, rows: u64) {
    let sink = Sink::start().await;
    let table = JobTables::create(&sink).await;
    let cases = [
        ("a target of their own", sink.url(1), sink.url(2)),
        ("the same target", sink.url(1), sink.url(1)),
        ("the same target, which takes 200 ms", sink.slow_url(), sink.slow_url()),
        ("a target of their own, the flood's hangs", sink.hanging_url(), sink.url(2)),
    ];
    for (case, flooded, url) in cases {
        Report::progress(&format!("{case}: {rows} jobs of one client, ten of another"));
        table.fill_for_one_client(&flooded, rows).await;
        let mut worker = binary::start(table.config_without_listener());
        if flooded == sink.hanging_url() {
            tokio::time::sleep(Duration::from_secs(5)).await;
        } else {
            table.wait_until_attempted("client_id = 'a'", DELIVERED_FIRST).await;
        }
        table.insert_ten(&url).await;
        table.wait_until_attempted("client_id = 'b'", 10).await;
        binary::stop(&mut worker).await;
        let seconds = table.delivery_seconds("b").await;
        report.print(&Figure::new("fairness", format!("ten of {rows}, to {case}"), seconds, "s"));
    }
}
