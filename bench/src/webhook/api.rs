//! Measures what the API of the real binary accepts per second over 64 connections: jobs, events and e-mails, one a
//! request, and a hundred jobs a request. Jobs are scheduled for later, so that only their creation is measured.

use std::net::TcpListener;

use bytes::Bytes;

use super::api_client::ApiClient;
use super::sink::Sink;
use super::table::{JobTables, PAYLOAD};
use crate::binary;

/// Jobs per request of a batch.
const BATCH: u64 = 100;
/// Concurrent requests, each on a connection of its own.
const CONNECTIONS: u64 = 64;
/// Concurrent requests with a batch.
const BATCH_CONNECTIONS: u64 = 16;

/// What the API accepted per second.
#[derive(Debug, Clone, Copy)]
pub struct Accepted {
    pub jobs: f64,
    pub jobs_in_batches: f64,
    pub events: f64,
    pub emails: f64,
}

/// Measures with `rows` jobs and events, and a tenth as many e-mails, each of which has a file.
pub async fn run(table: &JobTables, sink: &Sink, rows: u64) -> Accepted {
    table.empty().await;
    let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
    let listen = format!("127.0.0.1:{}", free.expect("a free port").port());
    let config = table.config_with_listener(&listen);
    let text = std::fs::read_to_string(&config).expect("it was written");
    std::fs::write(&config, text + EMAILS).expect("written");
    std::fs::create_dir_all(config.with_file_name("mails")).expect("a folder for the e-mails");
    binary::migrate(&config).await;
    let key = binary::output_of(&config, &["key", "create", "bench", "--role", "producer"]).await;
    let mut server = binary::start(&config);
    let client = ApiClient::new(&listen, &key);
    let job = serde_json::json!({
        "code": "shop:orders:order:created", "targetUrl": sink.url(0), "payload": PAYLOAD,
        "scheduledFor": "2099-01-01T00:00:00Z",
    })
    .to_string();
    client.wait_until_up(&mut server, "/dispatch-jobs", job.clone()).await;
    let batch = vec![job.as_str(); usize::try_from(BATCH).expect("a hundred")].join(",");
    let batch = Bytes::from(format!("{{\"jobs\":[{batch}]}}"));
    let job = Bytes::from(job);
    let jobs = client.post_all(CONNECTIONS, rows, "/dispatch-jobs", move |_| job.clone()).await;
    let events = client.post_all(CONNECTIONS, rows, "/events", event).await;
    let emails = client.post_all(CONNECTIONS, rows / 10, "/emails", |_| Bytes::from(EMAIL)).await;
    let requests = rows.div_ceil(BATCH);
    let batches =
        client.post_all(BATCH_CONNECTIONS, requests, "/dispatch-jobs/batch", move |_| batch.clone()).await;
    binary::stop(&mut server).await;
    Accepted { jobs, events, emails, jobs_in_batches: batches * number(BATCH) }
}

/// A lane that accepts e-mails.
const EMAILS: &str =
    "\n[lanes.mails]\ncontract = \"emails\"\nstage = \"intake\"\nemails = { base = \"mails\" }\n";

const EMAIL: &str = "{\"from\":\"shop@example.org\",\"to\":[\"ann@example.net\"],\"subject\":\"Your order\",\"body_text\":\"It is on its way.\"}";

/// An event that matches no subscription, so that only its reception is measured.
fn event(number: u64) -> Bytes {
    let event = format!(
        "{{\"specversion\":\"1.0\",\"id\":\"e{number}\",\"source\":\"/shop\",\"type\":\"shop:orders:order:created\",\"data\":{PAYLOAD}}}"
    );
    Bytes::from(event)
}

#[allow(clippy::cast_precision_loss)] // a hundred
fn number(count: u64) -> f64 {
    count as f64
}
