//! Measures the whole way of a webhook service, as svix-server's own load test does: events are created one per request
//! over the API, subscriptions turn each into jobs, a local receiver gets them, and every attempt is recorded. All this
//! goes on at the same time, in one process, on PostgreSQL with durable commits.

use std::net::TcpListener;
use std::time::Duration;

use bytes::Bytes;
use sqlx::PgConnection;

use crate::binary;
use crate::memory::megabytes;
use crate::postgres::{BenchDatabase, number, query_float};
use crate::report::{Figure, Report, median};
use crate::webhook::api_client::ApiClient;
use crate::webhook::sink::Sink;
use crate::webhook::table::PAYLOAD;

/// Concurrent requests, each on a connection of its own.
const CONNECTIONS: u64 = 64;
const NOW: &str = "SELECT extract(epoch FROM clock_timestamp())::float8";

/// The result of one round.
struct Round {
    /// Requests per second while the events are created.
    created: f64,
    /// Events per second, from the first request to the last recorded attempt.
    finished: f64,
    idle: f64,
    peak: f64,
}

/// Measures with this many events, each of which matches this many subscriptions.
pub async fn run(report: Report, rounds: usize, events: u64, subscriptions: u64) {
    let sink = Sink::start().await;
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let settings = |url: &str| {
        format!(
            "[server]\nlisten = \"127.0.0.1:{port}\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
             [transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\n[lanes.jobs]\ncontract = \"dispatch_jobs\"\n"
        )
    };
    let database = BenchDatabase::create("bench_svix_like", settings).await;
    let key = binary::output_of(&database.config, &["key", "create", "bench", "--role", "operator"]).await;
    let client = ApiClient::new(&format!("127.0.0.1:{port}"), &key);
    let mut measured = Vec::new();
    for round in 1..=rounds {
        Report::progress(&format!("round {round} of {rounds}, {events} events"));
        measured.push(one_round(&database, &client, &sink, events, subscriptions).await);
    }
    let print = |case: &str, unit, of: fn(&Round) -> f64| {
        let value = median(&mut measured.iter().map(of).collect::<Vec<f64>>());
        report.print(&Figure::new("svix-like", case, value, unit));
    };
    let noun = if subscriptions == 1 { "subscription" } else { "subscriptions" };
    print("created, while they are delivered", "events/s", |round| round.created);
    print(&format!("end to end, {subscriptions} {noun}"), "events/s", |round| round.finished);
    print("memory, before the first event", "MB", |round| round.idle);
    print("memory, peak", "MB", |round| round.peak);
}

async fn one_round(
    database: &BenchDatabase,
    client: &ApiClient,
    sink: &Sink,
    events: u64,
    subscriptions: u64,
) -> Round {
    database.execute(&["TRUNCATE dispatch_events, dispatch_jobs, dispatch_subscriptions CASCADE"]).await;
    database.execute(&["VACUUM ANALYZE", "CHECKPOINT"]).await;
    let mut connection = database.connect().await;
    let mut server = binary::start(&database.config);
    for number in 0..subscriptions {
        let subscription = serde_json::json!({
            "code": format!("orders-{number}"), "name": "Orders", "eventCode": "shop:orders:order:*",
            "targetUrl": sink.url(number),
        });
        client.wait_until_up(&mut server, "/subscriptions", subscription.to_string()).await;
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let idle = megabytes(&server, "VmRSS:");
    let begun = query_float(&mut connection, NOW).await;
    let client = client.clone().with_media_type("application/cloudevents+json");
    let created = client.post_all(CONNECTIONS, events, "/events", event).await;
    wait_for_attempts(&mut connection, events * subscriptions).await;
    let peak = megabytes(&server, "VmHWM:");
    binary::stop(&mut server).await;
    let last = "SELECT extract(epoch FROM max(created_at))::float8 FROM dispatch_attempts";
    let seconds = query_float(&mut connection, last).await - begun;
    Round { created, finished: number(events) / seconds, idle, peak }
}

/// Waits until every job has a recorded successful attempt.
async fn wait_for_attempts(connection: &mut PgConnection, jobs: u64) {
    let unfinished = "SELECT count(*)::float8 FROM dispatch_jobs WHERE status <> 'COMPLETED'";
    while query_float(connection, unfinished).await > 0.0 {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let attempts = "SELECT count(*)::float8 FROM dispatch_attempts WHERE status = 'SUCCESS'";
    let attempts = query_float(connection, attempts).await;
    assert!((attempts - number(jobs)).abs() < 0.5, "{attempts} attempts were recorded for {jobs} jobs");
}

fn event(number: u64) -> Bytes {
    let event = format!(
        "{{\"specversion\":\"1.0\",\"id\":\"e{number}\",\"source\":\"/shop\",\"type\":\"shop:orders:order:created\",\"data\":{PAYLOAD}}}"
    );
    Bytes::from(event)
}
