//! Measures how long ten jobs of one client take while a million jobs of another wait: from their insert to the last
//! recorded attempt, by PostgreSQL's clock, while the real binary delivers the backlog.

use std::time::Duration;

use super::sink::Sink;
use super::table::Table;
use crate::product;
use crate::report::{Figure, Report};

/// Jobs of the backlog that are delivered before the ten jobs are inserted.
const UNDER_WAY: u64 = 500;

/// Measures with a backlog of this many rows.
pub async fn run(report: Report, rows: u64) {
    let sink = Sink::start().await;
    let table = Table::create(&sink).await;
    let cases = [
        ("a target of their own", sink.url(1), sink.url(2)),
        ("the same target", sink.url(1), sink.url(1)),
        ("the same target, which takes 200 ms", sink.slow_url(), sink.slow_url()),
        ("a target of their own, the flood's hangs", sink.hanging_url(), sink.url(2)),
    ];
    for (case, flooded, url) in cases {
        Report::say(&format!("{case}: {rows} jobs of one client, ten of another"));
        table.flood(&flooded, rows).await;
        let mut worker = product::start(table.plain_config());
        if flooded == sink.hanging_url() {
            tokio::time::sleep(Duration::from_secs(5)).await;
        } else {
            table.until_attempted("client_id = 'a'", UNDER_WAY).await;
        }
        table.put_ten(&url).await;
        table.until_attempted("client_id = 'b'", 10).await;
        product::stop(&mut worker).await;
        let seconds = table.seconds_of("b").await;
        report.print(&Figure::new("fairness", format!("ten of {rows}, to {case}"), seconds, "s"));
    }
}
