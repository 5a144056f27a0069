//! From a request to the API of the real binary to the arrival of its webhook, without a notification trigger: the
//! process wakes its own lane.

use std::collections::HashMap;
use std::net::{Ipv4Addr, TcpListener};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::time::Instant;

use super::{PER_SECOND, pace};
use crate::binary;
use crate::postgres::BenchDatabase;
use crate::webhook::api_client::ApiClient;

const OK: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

/// When each job arrived, by the number in its payload.
type Arrivals = Arc<Mutex<HashMap<u64, Instant>>>;

/// The binary with its API, one lane of webhooks, and a receiver.
pub struct ApiBench {
    client: ApiClient,
    arrivals: Arrivals,
    url: String,
    _server: Child,
    _database: BenchDatabase,
}

impl ApiBench {
    /// Creates the tables without the trigger, and starts the binary and the receiver.
    pub async fn start() -> Self {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr());
        let listen = format!("127.0.0.1:{}", free.expect("a free port").port());
        let settings = |url: &str| {
            format!(
                "[server]\nlisten = \"{listen}\"\n\n[stores.main]\nurl = \"{url}\"\n\n\
                 [transports.hooks]\nurl = \"webhook://\"\nallow = \"127.0.0.0/8\"\n\n\
                 [lanes.jobs]\ncontract = \"dispatch_jobs\"\n"
            )
        };
        let database = BenchDatabase::create("bench_api_latency", settings).await;
        database.execute(&["DROP TRIGGER IF EXISTS postrider_dispatch_jobs ON dispatch_jobs"]).await;
        let key =
            binary::output_of(&database.config, &["key", "create", "bench", "--role", "producer"]).await;
        let mut server = binary::start(&database.config);
        let client = ApiClient::new(&listen, &key);
        let (arrivals, url) = receive().await;
        client.wait_until_up(&mut server, "/dispatch-jobs", job(&url, u64::MAX)).await;
        Self { client, arrivals, url, _server: server, _database: database }
    }

    /// Returns the latency of each job, in milliseconds.
    pub async fn one_round(&self, seconds: u64) -> Vec<f64> {
        self.arrivals.lock().expect("no panic holds it").clear();
        let mut pace = pace();
        let mut sent = Vec::new();
        for number in 0..seconds * PER_SECOND {
            pace.tick().await;
            let (client, job, at) = (self.client.clone(), job(&self.url, number), Instant::now());
            sent.push((number, at));
            tokio::spawn(
                async move { assert!(client.post("/dispatch-jobs", job).await, "the API takes a job") },
            );
        }
        tokio::time::sleep(Duration::from_secs(2)).await;
        let arrivals = self.arrivals.lock().expect("no panic holds it");
        sent.into_iter()
            .map(|(number, at)| {
                let arrived = arrivals.get(&number).unwrap_or_else(|| panic!("job {number} never arrived"));
                arrived.saturating_duration_since(at).as_secs_f64() * 1000.0
            })
            .collect()
    }
}

fn job(url: &str, number: u64) -> String {
    let payload = format!("{{\"number\":{number}}}");
    serde_json::json!({ "code": "shop:orders:order:created", "targetUrl": url, "payload": payload })
        .to_string()
}

/// Starts a receiver that records when each job arrived; returns its URL.
async fn receive() -> (Arrivals, String) {
    let listener = tokio::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.expect("a port is free");
    let url = format!("http://{}/hook", listener.local_addr().expect("it is bound"));
    let arrivals = Arrivals::default();
    let recorded = Arc::clone(&arrivals);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer(stream, Arc::clone(&recorded)));
        }
    });
    (arrivals, url)
}

/// Answers requests, each of which ends with its payload.
async fn answer(mut stream: TcpStream, arrivals: Arrivals) {
    const START: &str = "{\"number\":";
    let _ = stream.set_nodelay(true);
    let mut buffer = Vec::new();
    while matches!(stream.read_buf(&mut buffer).await, Ok(1..)) {
        let now = Instant::now();
        let text = String::from_utf8_lossy(&buffer);
        let Some((_, rest)) = text.rsplit_once(START) else { continue };
        let Some((number, _)) = rest.split_once('}') else { continue };
        let number = number.parse().expect("a number of ours");
        arrivals.lock().expect("no panic holds it").insert(number, now);
        buffer.clear();
        if stream.write_all(OK).await.is_err() {
            return;
        }
    }
}
