//! A client of the API that keeps its connections.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use tokio::process::Child;
use tokio::time::Instant;

use crate::lane::rate;

/// A client with a key.
#[derive(Clone)]
pub struct ApiClient {
    web: Client<HttpConnector, Full<Bytes>>,
    base: String,
    authorization: String,
}

impl ApiClient {
    /// Creates a client of the API at this address.
    pub fn new(address: &str, key: &str) -> Self {
        let mut connector = HttpConnector::new();
        connector.set_nodelay(true);
        Self {
            web: Client::builder(TokioExecutor::new()).build(connector),
            base: format!("http://{address}/api/v1"),
            authorization: format!("Bearer {key}"),
        }
    }

    /// Posts JSON; returns whether it was accepted.
    pub async fn post(&self, path: &str, body: impl Into<Bytes>) -> bool {
        let request = Request::post(format!("{}{path}", self.base))
            .header("content-type", "application/json")
            .header("authorization", &self.authorization)
            .body(Full::new(body.into()))
            .expect("a request of ours");
        let Ok(answer) = self.web.request(request).await else { return false };
        let fine = answer.status().is_success();
        answer.into_body().collect().await.is_ok() && fine
    }

    /// Posts until the server accepts it.
    pub async fn wait_until_up(&self, server: &mut Child, path: &str, body: String) {
        while !self.post(path, body.clone()).await {
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(server.try_wait().expect("asked").is_none(), "postrider ended early");
        }
    }

    /// Posts `requests` bodies over this many connections; returns requests per second.
    pub async fn post_all(
        &self,
        connections: u64,
        requests: u64,
        path: &'static str,
        body: impl Fn(u64) -> Bytes + Clone + Send + Sync + 'static,
    ) -> f64 {
        let next = Arc::new(AtomicU64::new(0));
        let started = Instant::now();
        let callers: Vec<_> = (0..connections)
            .map(|_| {
                let (client, next, body) = (self.clone(), Arc::clone(&next), body.clone());
                tokio::spawn(async move {
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= requests {
                            return;
                        }
                        assert!(client.post(path, body(number)).await, "the API accepts {path}");
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
