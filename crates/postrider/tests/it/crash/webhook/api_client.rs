//! A client of the API that creates its jobs while the servers are killed. Without an answer it repeats the request to
//! another server with the same idempotency key: each job must be created once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use rand::Rng as _;
use rand::rngs::StdRng;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::jobs;
use crate::crash::parameters::CrashParameters;

const TIMEOUT: Duration = Duration::from_mins(3);

pub struct ApiClient {
    /// The folder of the servers' logs, which name the addresses that they listen on.
    pub folder: PathBuf,
    pub key: String,
    /// The target of the webhooks.
    pub url: String,
}

/// The client's record of its requests.
#[derive(Debug, Default)]
pub struct ApiRequests {
    pub made: u32,
    /// Requests without an answer, or with an answer that confirmed nothing.
    pub again: u32,
    /// Jobs that were PENDING in the answer, because the queue was unavailable.
    pub pending: u32,
}

impl ApiClient {
    /// Creates all jobs of the plan that belong to the API, in proportion to the kills so far.
    pub async fn create_jobs(self, parameters: CrashParameters, kills: Arc<AtomicU32>) -> ApiRequests {
        let (mut rng, mut requests) = (parameters.rng(3), ApiRequests::default());
        for number in (0..parameters.rows).filter(|number| jobs::is_for_api(*number)) {
            let due = u64::from(number) * u64::from(parameters.kills) / u64::from(parameters.rows);
            while u64::from(kills.load(Ordering::Relaxed)) < due {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            self.create_job(number, &mut rng, &mut requests).await;
        }
        requests
    }

    async fn create_job(&self, number: u32, rng: &mut StdRng, requests: &mut ApiRequests) {
        let job = jobs::api_request(&self.url, number).to_string();
        let end = Instant::now() + TIMEOUT;
        loop {
            assert!(Instant::now() < end, "no server made job {number} within {} s", TIMEOUT.as_secs());
            let servers = servers(&self.folder);
            if !servers.is_empty() {
                let server = &servers[rng.random_range(0..servers.len())];
                let asked = tokio::time::timeout(Duration::from_secs(15), self.post(server, &job)).await;
                match asked.ok().flatten() {
                    Some((200 | 201, body)) => {
                        requests.made += 1;
                        requests.pending += u32::from(body["status"] == json!("PENDING"));
                        return;
                    }
                    Some((code @ 400..500, body)) => panic!("job {number}: {code} {body}"),
                    _ => requests.again += 1,
                }
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Status and body of the answer; `None` if it is incomplete.
    async fn post(&self, server: &str, job: &str) -> Option<(u16, serde_json::Value)> {
        let mut stream = TcpStream::connect(server).await.ok()?;
        let head = format!(
            "POST /api/v1/dispatch-jobs HTTP/1.1\r\nHost: test\r\nConnection: close\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{job}",
            self.key,
            job.len()
        );
        stream.write_all(head.as_bytes()).await.ok()?;
        let mut text = String::new();
        stream.read_to_string(&mut text).await.ok()?;
        let (head, body) = text.split_once("\r\n\r\n")?;
        Some((head.split(' ').nth(1)?.parse().ok()?, serde_json::from_str(body).ok()?))
    }
}

/// The addresses of the last few servers, from their logs; some of the servers are dead.
fn servers(folder: &Path) -> Vec<String> {
    let logs = std::fs::read_dir(folder).expect("the folder is there").flatten().map(|entry| entry.path());
    let is_log = |path: &PathBuf| {
        let name = path.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("worker-") && path.extension().is_some_and(|extension| extension == "log")
    };
    let mut logs: Vec<PathBuf> = logs.filter(is_log).collect();
    logs.sort();
    let address = |log: PathBuf| {
        let text = std::fs::read_to_string(log).ok()?;
        let (_, rest) = text.split_once("address=127.0.0.1:")?;
        let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
        Some(format!("127.0.0.1:{port}"))
    };
    logs.into_iter().rev().take(5).filter_map(address).collect()
}
