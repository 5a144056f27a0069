//! Measures the resident memory of the real binary: idle on PostgreSQL, and while it drains a large backlog.

use std::time::Duration;

use sqlx::{AssertSqlSafe, Connection, PgConnection, Row};
use tokio::process::Child;

use crate::binary::{start, stop};
use crate::lane::contract;
use crate::report::{Figure, Report};
use crate::servers::{BenchTable, variable};

/// Measures idle, then with a backlog of this many rows.
pub async fn run(report: Report, rows: u64) {
    let contract = contract(500);
    let table = BenchTable::postgres(&contract).await;
    let BenchTable::Postgres { url, .. } = &table else { unreachable!("made above") };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let sink = variable("POSTRIDER_TEST_SMTP_SINK");
    let config = folder.path().join("postrider.toml");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n\n[stores.main]\nurl = \"{url}\"\n\n[transports.sink]\nurl = \"smtp://{sink}?tls=none\"\n\n\
         [lanes.mail]\ncontract = \"mail_outbox\"\nstore = \"main\"\ntransport = \"sink\"\nbatch = 500\n"
    );
    std::fs::write(&config, text).expect("written");

    let mut idle = start(&config);
    tokio::time::sleep(Duration::from_secs(10)).await;
    report.print(&Figure::new("memory", "idle", megabytes(&idle, "VmRSS:"), "MB"));
    stop(&mut idle).await;

    Report::progress(&format!("filling {rows} rows"));
    table.fill(rows, "").await;
    let mut busy = start(&config);
    let mut connection = PgConnection::connect(url).await.expect("connected");
    loop {
        tokio::time::sleep(Duration::from_secs(2)).await;
        let left = "SELECT count(*) FROM (SELECT 1 FROM mail_outbox WHERE status <> 'sent' LIMIT 1) AS rest";
        let row = sqlx::query(AssertSqlSafe(left)).fetch_one(&mut connection).await.expect("counted");
        if row.get::<i64, _>(0) == 0 {
            break;
        }
        assert!(busy.try_wait().expect("asked").is_none(), "postrider ended early");
    }
    report.print(&Figure::new(
        "memory",
        format!("peak while draining {rows} rows"),
        megabytes(&busy, "VmHWM:"),
        "MB",
    ));
    stop(&mut busy).await;
}

/// A line of the kernel's status of a process, such as `VmHWM:`, in MB.
pub fn megabytes(child: &Child, line: &str) -> f64 {
    let pid = child.id().expect("it runs");
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("Linux has /proc");
    let kib: f64 = status
        .lines()
        .find_map(|text| text.strip_prefix(line))
        .and_then(|rest| rest.trim().split(' ').next())
        .and_then(|number| number.parse().ok())
        .expect("the line is there");
    kib / 1024.0
}
