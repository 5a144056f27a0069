//! The baseline: the HTTP crate alone, with the same bodies from memory and as many concurrent requests as
//! the transport allows.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::time::Instant;

use super::sink::Sink;
use super::table::PAYLOAD;
use crate::lane::rate;

/// Requests per second.
pub async fn run(sink: &Sink, rows: u64, targets: u64, at_once: usize) -> f64 {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build(connector);
    let urls: Arc<[String]> = (0..targets).map(|target| sink.url(target)).collect();
    let next = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let senders: Vec<_> = (0..at_once)
        .map(|_| {
            let (client, urls, next) = (client.clone(), Arc::clone(&urls), Arc::clone(&next));
            tokio::spawn(async move {
                loop {
                    let row = next.fetch_add(1, Ordering::Relaxed);
                    if row >= rows {
                        return;
                    }
                    let url = &urls[usize::try_from(row % targets).expect("a few thousand")];
                    let request = Request::post(url)
                        .header("content-type", "application/json")
                        .header("webhook-id", format!("{row:013}"))
                        .header("webhook-timestamp", "1700000000")
                        .body(Full::new(Bytes::from_static(PAYLOAD.as_bytes())))
                        .expect("a request of ours");
                    let answer = client.request(request).await.expect("the sink answers");
                    assert!(answer.status().is_success(), "the sink takes everything");
                    answer.into_body().collect().await.expect("the answer ends");
                }
            })
        })
        .collect();
    for sender in senders {
        sender.await.expect("no panic");
    }
    rate(rows, started.elapsed())
}
