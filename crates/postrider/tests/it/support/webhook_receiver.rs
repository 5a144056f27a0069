//! A receiver of webhooks: answers by a script, and keeps a journal of every request and every answer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// One request.
#[derive(Debug, Clone)]
pub struct ReceivedRequest {
    pub path: String,
    /// Names in lower case.
    pub headers: BTreeMap<String, String>,
    pub body: String,
    /// The sequence numbers of its arrival and of its answer, and the answer's status.
    pub arrived: u64,
    pub answered: Option<(u64, u16)>,
}

impl ReceivedRequest {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", String::as_str)
    }

    pub fn id(&self) -> &str {
        self.header("webhook-id")
    }
}

/// An answer of the receiver.
#[derive(Debug, Clone, Default)]
pub struct Reply {
    pub status: u16,
    pub headers: String,
    pub body: String,
    pub after: Duration,
}

impl Reply {
    pub fn status(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    /// Adds a header line.
    pub fn with(mut self, header: &str) -> Self {
        self.headers = format!("{}{header}\r\n", self.headers);
        self
    }

    pub fn with_body(self, body: &str) -> Self {
        Self { body: body.to_owned(), ..self }
    }

    pub fn after(self, after: Duration) -> Self {
        Self { after, ..self }
    }
}

/// Chooses the answer from the request and the number of earlier requests with that id.
type Script = dyn Fn(&ReceivedRequest, usize) -> Reply + Send + Sync;

#[derive(Clone)]
pub struct WebhookReceiver {
    pub port: u16,
    inner: Arc<Inner>,
}

struct Inner {
    script: Box<Script>,
    journal: Mutex<Vec<ReceivedRequest>>,
    events: AtomicU64,
}

impl WebhookReceiver {
    pub async fn start(script: impl Fn(&ReceivedRequest, usize) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port is free");
        let port = listener.local_addr().expect("it is bound").port();
        let inner = Inner { script: Box::new(script), journal: Mutex::default(), events: AtomicU64::new(0) };
        let receiver = Self { port, inner: Arc::new(inner) };
        let all = receiver.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let one = all.clone();
                tokio::spawn(async move { one.serve(stream).await });
            }
        });
        receiver
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://127.0.0.1:{}/{path}", self.port)
    }

    pub fn journal(&self) -> Vec<ReceivedRequest> {
        self.inner.journal.lock().expect("no panic holds it").clone()
    }

    pub fn requests_of(&self, id: &str) -> Vec<ReceivedRequest> {
        self.journal().into_iter().filter(|request| request.id() == id).collect()
    }

    fn next_number(&self) -> u64 {
        self.inner.events.fetch_add(1, Ordering::SeqCst)
    }

    async fn serve(&self, mut stream: TcpStream) -> Option<()> {
        let mut buffer = Vec::new();
        loop {
            let (head, body) = read_request(&mut stream, &mut buffer).await?;
            let (reply, index) = self.record(&head, body);
            tokio::time::sleep(reply.after).await;
            // Record the answer before it is sent, so that its effects get later numbers.
            let event = self.next_number();
            self.inner.journal.lock().expect("no panic holds it")[index].answered =
                Some((event, reply.status));
            let text = format!(
                "HTTP/1.1 {} X\r\ncontent-length: {}\r\n{}\r\n{}",
                reply.status,
                reply.body.len(),
                reply.headers,
                reply.body
            );
            stream.write_all(text.as_bytes()).await.ok()?;
        }
    }

    fn record(&self, head: &str, body: String) -> (Reply, usize) {
        let mut lines = head.lines();
        let path = lines.next().and_then(|line| line.split(' ').nth(1)).unwrap_or("").to_owned();
        let headers = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let request = ReceivedRequest { path, headers, body, arrived: self.next_number(), answered: None };
        let mut journal = self.inner.journal.lock().expect("no panic holds it");
        let before = journal.iter().filter(|known| known.id() == request.id()).count();
        let reply = (self.inner.script)(&request, before);
        journal.push(request);
        (reply, journal.len() - 1)
    }
}

/// Reads head and body of the next request; `None` at the end of the connection.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> Option<(String, String)> {
    loop {
        if let Some(at) = buffer.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&buffer[..at]).into_owned();
            let length = head
                .lines()
                .filter_map(|line| line.split_once(':'))
                .find(|(name, _)| name.eq_ignore_ascii_case("content-length"))
                .and_then(|(_, value)| value.trim().parse::<usize>().ok())
                .unwrap_or(0);
            if buffer.len() >= at + 4 + length {
                let body = String::from_utf8_lossy(&buffer[at + 4..at + 4 + length]).into_owned();
                buffer.drain(..at + 4 + length);
                return Some((head, body));
            }
        }
        if stream.read_buf(buffer).await.ok()? == 0 {
            return None;
        }
    }
}
