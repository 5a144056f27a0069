//! Measures mails/s of the real binary with its default settings to a fast SMTP sink, with a distant database. A proxy
//! delays every byte by half a round trip in each direction, without reducing throughput.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use postrider_services::Proxy;
use sqlx::{AssertSqlSafe, Connection, MySqlConnection, PgConnection, Row};
use tokio::time::Instant;

use crate::binary::{start, stop};
use crate::lane::{contract, rate};
use crate::report::{Figure, Report, median};
use crate::servers::{BenchTable, variable};

/// Round trip in milliseconds of the baseline: a database on the same network.
const NEAR: u64 = 1;

/// Measures each round trip of `millis`.
pub async fn run(report: Report, rounds: usize, rows: u64, millis: &[u64]) {
    let contract = contract(200);
    for table in [BenchTable::postgres(&contract).await, BenchTable::mariadb(&contract).await] {
        let mut near = Vec::new();
        let mut far = vec![Vec::new(); millis.len()];
        for round in 1..=rounds {
            Report::progress(&format!("{}: round {round} of {rounds}, {rows} mails each", table.name()));
            near.push(measure_drain(&table, rows, NEAR).await);
            for (rates, millis) in far.iter_mut().zip(millis) {
                rates.push(measure_drain(&table, rows, *millis).await);
            }
        }
        let near = median(&mut near);
        let case = |millis: u64| format!("{}, a round trip of {millis} ms", table.name());
        report.print(&Figure::new("latency", case(NEAR), near, "mails/s"));
        for (rates, millis) in far.iter_mut().zip(millis) {
            let figure = Figure::new("latency", case(*millis), median(rates), "mails/s");
            report.print(&figure.compared_with(&format!("{NEAR} ms"), near));
        }
    }
}

/// Mails per second from the first settled row to the last.
async fn measure_drain(table: &BenchTable, rows: u64, millis: u64) -> f64 {
    table.fill(rows, "A line of text.").await;
    let url = url(table);
    let (address, place) = authority(url);
    let proxy = Proxy::start(address).expect("a free port");
    proxy.delay(Duration::from_micros(millis * 500));
    let mut far = url.to_owned();
    far.replace_range(place, &proxy.address().to_string());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = folder.path().join("postrider.toml");
    configure(&config, &far);
    let mut child = start(&config);
    let mut first = None;
    loop {
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(child.try_wait().expect("asked").is_none(), "postrider ended early");
        let sent = sent(table).await;
        let (since, before) = match first {
            None if sent == 0 => continue,
            None => *first.insert((Instant::now(), sent)),
            Some(first) => first,
        };
        if sent >= rows {
            stop(&mut child).await;
            return rate(rows - before, since.elapsed());
        }
    }
}

fn configure(file: &Path, url: &str) {
    let sink = variable("POSTRIDER_TEST_SMTP_SINK");
    let text = format!(
        "[server]\nlisten = \"127.0.0.1:0\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
         [transports.sink]\nurl = \"smtp://{sink}?tls=none\"\n\n\
         [lanes.mail]\ncontract = \"mail_outbox\"\nstore = \"main\"\ntransport = \"sink\"\n"
    );
    std::fs::write(file, text).expect("written");
}

fn url(table: &BenchTable) -> &str {
    match table {
        BenchTable::Postgres { url, .. } | BenchTable::Mariadb { url, .. } => url,
        BenchTable::Sqlite { .. } => unreachable!("a file has no round trip"),
    }
}

/// The server's address, and its position in the URL.
fn authority(url: &str) -> (SocketAddr, std::ops::Range<usize>) {
    let start = url.find("://").expect("a URL") + 3;
    let end = url[start..].find('/').map_or(url.len(), |end| start + end);
    let start = url[start..end].rfind('@').map_or(start, |at| start + at + 1);
    (url[start..end].parse().expect("the test servers have an address and a port"), start..end)
}

async fn sent(table: &BenchTable) -> u64 {
    let count = "SELECT count(*) FROM mail_outbox WHERE status = 'sent'";
    let url = url(table);
    let sent: i64 = if let BenchTable::Postgres { .. } = table {
        let mut connection = PgConnection::connect(url).await.expect("connected");
        sqlx::query(AssertSqlSafe(count)).fetch_one(&mut connection).await.expect("counted").get(0)
    } else {
        let mut connection = MySqlConnection::connect(url).await.expect("connected");
        sqlx::query(AssertSqlSafe(count)).fetch_one(&mut connection).await.expect("counted").get(0)
    };
    u64::try_from(sent).expect("a count")
}
