//! A client of the API. Under load it is a bare HTTP/1.1 client, so that the shared cores serve the API and not its
//! callers: each connection writes a request, reads the response to its end, and repeats.

use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::process::Child;
use tokio::time::Instant;

use crate::lane::rate;

/// A client with a key.
#[derive(Clone)]
pub struct ApiClient {
    address: String,
    authorization: String,
    media_type: &'static str,
    /// Connections that are kept for the next request.
    idle: Arc<Mutex<Vec<Connection>>>,
}

impl ApiClient {
    /// Creates a client of the API at this address.
    pub fn new(address: &str, key: &str) -> Self {
        Self {
            address: address.to_owned(),
            authorization: format!("Bearer {key}"),
            media_type: "application/json",
            idle: Arc::default(),
        }
    }

    /// Sends bodies of this media type instead of JSON.
    pub fn with_media_type(self, media_type: &'static str) -> Self {
        Self { media_type, ..self }
    }

    /// Opens a connection.
    async fn connect(&self) -> io::Result<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: Vec::with_capacity(4096) })
    }

    /// Posts a body on an idle connection, or on a new one; returns whether it was accepted.
    pub async fn post(&self, path: &str, body: impl AsRef<[u8]>) -> bool {
        let idle = self.idle.lock().expect("no panic holds it").pop();
        let posted = async {
            let mut connection = if let Some(idle) = idle { idle } else { self.connect().await? };
            let status = connection.send(&self.head(path), body.as_ref()).await?;
            self.idle.lock().expect("no panic holds it").push(connection);
            io::Result::Ok(status)
        };
        posted.await.is_ok_and(is_success)
    }

    /// Returns the head of a request, without its length.
    fn head(&self, path: &str) -> String {
        format!(
            "POST /api/v1{path} HTTP/1.1\r\nhost: {}\r\nauthorization: {}\r\ncontent-type: {}\r\ncontent-length: ",
            self.address, self.authorization, self.media_type
        )
    }

    /// Posts until the server accepts it.
    pub async fn wait_until_up(&self, server: &mut Child, path: &str, body: String) {
        while !self.post(path, &body).await {
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
        let head = self.head(path);
        let started = Instant::now();
        let callers: Vec<_> = (0..connections)
            .map(|_| {
                let (client, next, body, head) =
                    (self.clone(), Arc::clone(&next), body.clone(), head.clone());
                tokio::spawn(async move {
                    let mut connection = client.connect().await.expect("connected");
                    loop {
                        let number = next.fetch_add(1, Ordering::Relaxed);
                        if number >= requests {
                            return;
                        }
                        let status = connection.send(&head, &body(number)).await.expect("answered");
                        assert!(is_success(status), "the API answers {path} with {status}");
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

/// A connection.
struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Connection {
    /// Sends a request and reads its response; returns the status.
    async fn send(&mut self, head: &str, body: &[u8]) -> io::Result<u16> {
        let length = body.len().to_string();
        self.buffer.clear();
        for part in [head.as_bytes(), length.as_bytes(), b"\r\n\r\n", body] {
            self.buffer.extend_from_slice(part);
        }
        self.stream.write_all(&self.buffer).await?;
        self.buffer.clear();
        loop {
            if self.stream.read_buf(&mut self.buffer).await? == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            if let Some(status) = complete_response(&self.buffer) {
                return Ok(status);
            }
        }
    }
}

fn is_success(status: u16) -> bool {
    (200..300).contains(&status)
}

/// Returns the status of a response that was read to its end. Every response of the API has a length.
fn complete_response(bytes: &[u8]) -> Option<u16> {
    const LENGTH: &str = "content-length:";
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let head = std::str::from_utf8(&bytes[..end]).expect("a head is ASCII");
    let status = head.get(9..12)?.parse().expect("a status");
    let line = head
        .lines()
        .find(|line| line.get(..LENGTH.len()).is_some_and(|name| name.eq_ignore_ascii_case(LENGTH)));
    let length: usize = line.map_or(0, |line| line[LENGTH.len()..].trim().parse().expect("a length"));
    (bytes.len() >= end + length).then_some(status)
}
