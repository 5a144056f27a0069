//! Measures jobs/s created through the API of the real binary, with one and with a hundred jobs per request. The jobs
//! are scheduled for later, so that only their creation is measured.

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;

use super::sink::Sink;
use super::table::{JobTables, PAYLOAD};
use crate::binary;
use crate::lane::rate;

/// Jobs per request.
const BATCH: u64 = 100;
/// Concurrent requests.
const CONCURRENT_REQUESTS: u64 = 16;

type HttpClient = Client<HttpConnector, Full<Bytes>>;

/// Jobs per second: with one job per request, and with a hundred.
pub async fn run(table: &JobTables, sink: &Sink, rows: u64) -> (f64, f64) {
    table.empty().await;
    let port =
        TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).expect("a free port").port();
    let config = table.config_with_listener(&format!("127.0.0.1:{port}"));
    let key = binary::output_of(&config, &["key", "create", "bench", "--role", "producer"]).await;
    let mut server = binary::start(&config);
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let caller = Arc::new(JobClient {
        web: Client::builder(TokioExecutor::new()).build(connector),
        url: format!("http://127.0.0.1:{port}/api/v1/dispatch-jobs"),
        key,
        job: serde_json::json!({
            "code": "shop:orders:order:created", "targetUrl": sink.url(0), "payload": PAYLOAD,
            "scheduledFor": "2099-01-01T00:00:00Z",
        })
        .to_string(),
    });
    while !caller.post("", caller.job.clone()).await {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(server.try_wait().expect("asked").is_none(), "postrider ended early");
    }
    let single = caller.clone().send_all(rows, "", caller.job.clone()).await;
    let jobs = vec![caller.job.as_str(); usize::try_from(BATCH).expect("a hundred")].join(",");
    let requests =
        caller.clone().send_all(rows.div_ceil(BATCH), "/batch", format!("{{\"jobs\":[{jobs}]}}")).await;
    binary::stop(&mut server).await;
    (single, requests * number(BATCH))
}

struct JobClient {
    web: HttpClient,
    url: String,
    key: String,
    job: String,
}

impl JobClient {
    async fn post(&self, path: &str, body: String) -> bool {
        let request = Request::post(format!("{}{path}", self.url))
            .header("content-type", "application/json")
            .header("authorization", format!("Bearer {}", self.key))
            .body(Full::new(Bytes::from(body)))
            .expect("a request of ours");
        let Ok(answer) = self.web.request(request).await else { return false };
        let fine = answer.status().is_success();
        answer.into_body().collect().await.is_ok() && fine
    }

    /// Sends all requests; returns requests per second.
    async fn send_all(self: Arc<Self>, requests: u64, path: &'static str, body: String) -> f64 {
        let next = Arc::new(AtomicU64::new(0));
        let started = Instant::now();
        let callers: Vec<_> = (0..CONCURRENT_REQUESTS)
            .map(|_| {
                let (caller, next, body) = (Arc::clone(&self), Arc::clone(&next), body.clone());
                tokio::spawn(async move {
                    while next.fetch_add(1, Ordering::Relaxed) < requests {
                        assert!(caller.post(path, body.clone()).await, "the API takes a job");
                    }
                })
            })
            .collect();
        for caller in callers {
            caller.await.expect("no panic");
        }
        rate(requests, started.elapsed())
    }
}

#[allow(clippy::cast_precision_loss)] // a hundred
fn number(count: u64) -> f64 {
    count as f64
}
