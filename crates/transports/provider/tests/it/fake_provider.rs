//! A fake provider API on loopback, mails to send to it, and helpers to check outcomes.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::Request;
use axum::http::{HeaderMap, Response};
use bytes::Bytes;
use postrider_seams::row::Detail;
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome, Receipt, Transport as _};
use postrider_transport_provider::Provider;
use serde_json::Value;
use tokio::time::Instant;

/// A request as the provider received it.
#[derive(Debug, Clone)]
pub struct Seen {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Seen {
    pub fn header(&self, name: &str) -> &str {
        self.headers.get(name).map_or("", |value| value.to_str().unwrap())
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }
}

/// Status, headers, body.
pub type Reply = (u16, Vec<(&'static str, String)>, String);

pub fn plain(status: u16, body: &(impl ToString + ?Sized)) -> Reply {
    (status, Vec::new(), body.to_string())
}

pub struct FakeProvider {
    pub url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

impl FakeProvider {
    /// Starts a server that answers with `rules`, until the test's runtime ends.
    pub async fn start(rules: fn(&Seen) -> Reply) -> Self {
        let seen: Arc<Mutex<Vec<Seen>>> = Arc::default();
        let kept = Arc::clone(&seen);
        let answer = move |request: Request<Body>| async move {
            let (head, body) = request.into_parts();
            let one = Seen {
                method: head.method.to_string(),
                path: head.uri.path().to_owned(),
                headers: head.headers,
                body: to_bytes(body, usize::MAX).await.unwrap(),
            };
            let (status, headers, body) = rules(&one);
            kept.lock().unwrap().push(one);
            let mut response = Response::builder().status(status);
            for (name, value) in headers {
                response = response.header(name, value);
            }
            response.body(Body::from(body)).unwrap()
        };
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        tokio::spawn(async move { axum::serve(listener, Router::new().fallback(answer)).await });
        Self { url, seen }
    }

    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// Creates the transport for it, with these options beside the URL.
    pub fn provider(&self, url: &str, options: &[(&str, &str)]) -> Provider {
        let mut options: Vec<(String, String)> =
            options.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        options.push(("endpoint".to_owned(), self.url.clone()));
        Provider::from_url(url, &options).unwrap()
    }
}

/// A key longer than Postmark's metadata may be, with characters that tags may not have.
pub const DEDUPE_KEY: &str =
    "sha256:0123456789abcdef0123456789abcdef/0123456789abcdef0123456789abcdef=seat+open=2026F/NB";

/// Creates a mail with every supported part, from `box@example.org`.
pub fn mail(to: &[&str]) -> Envelope {
    mail_from("box@example.org", to)
}

pub fn mail_from(from: &str, to: &[&str]) -> Envelope {
    let message = format!(
        "From: \"Box, Office\" <{from}>\r\nTo: Ann <{}>\r\nReply-To: help@example.org\r\n\
         Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\r\nDate: Mon, 16 Nov 2026 00:00:00 +0000\r\n\
         Message-ID: <m-1@example.org>\r\nList-Unsubscribe: <https://example.org/u/1>\r\n\
         List-Unsubscribe-Post: List-Unsubscribe=One-Click\r\nX-Metadata-Dedupe-Key: {DEDUPE_KEY}\r\nMIME-Version: 1.0\r\n\
         Content-Type: multipart/mixed; boundary=\"m\"\r\n\r\n\
         --m\r\nContent-Type: multipart/alternative; boundary=\"a\"\r\n\r\n\
         --a\r\nContent-Type: text/plain; charset=utf-8\r\n\r\nHallo Öl\r\n\
         --a\r\nContent-Type: text/html; charset=utf-8\r\n\r\n<p>Hallo</p>\r\n--a--\r\n\
         --m\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename=\"t.pdf\"\r\n\
         Content-Transfer-Encoding: base64\r\n\r\nAAEC\r\n--m--\r\n",
        to[0]
    );
    Envelope {
        row: "1".to_owned(),
        dedupe: "event-7:42".to_owned(),
        attempt: 1,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(Mail {
            from: from.to_owned(),
            to: to.iter().map(|&to| to.to_owned()).collect(),
            message: Bytes::from(message),
            rest: None,
            message_id: "m-1@example.org".to_owned(),
            utf8: false,
            settled: Vec::new(),
            metadata: vec![
                ("subscriptionId".to_owned(), "42".to_owned()),
                ("traceId".to_owned(), "t/1".to_owned()),
            ],
        }),
        detail: Detail::new(),
    }
}

pub async fn send(provider: &Provider, envelope: Envelope) -> Outcome {
    let mut outcomes = provider.deliver(&[envelope], Instant::now() + Duration::from_secs(20)).await;
    assert_eq!(outcomes.len(), 1);
    outcomes.remove(0)
}

pub fn delivered(outcome: &Outcome) -> &Receipt {
    match outcome {
        Outcome::Delivered(receipt) => receipt,
        other => panic!("not delivered: {other:?}"),
    }
}

/// Returns the kind of an outcome, its code, and the requested wait in seconds.
pub fn summary(outcome: &Outcome) -> (&'static str, String, Option<u64>) {
    let kind = match outcome {
        Outcome::Delivered(_) => "delivered",
        Outcome::Retryable(_) => "retryable",
        Outcome::Rejected(_) => "rejected",
        Outcome::Skipped(_) => "skipped",
        Outcome::Deferred(_) => "deferred",
        Outcome::Refused(_) => "refused",
        Outcome::Uncertain(_) => "uncertain",
    };
    let failure: Failure = outcome.failure().cloned().unwrap_or_default();
    let code = failure.detail.get("code").and_then(|code| code.as_text()).unwrap_or_default().to_owned();
    (kind, code, failure.after.map(|after| after.as_secs()))
}

/// Returns the first recipient's local part, which selects the response of the provider's rules.
pub fn local(address: &str) -> &str {
    address.split('@').next().unwrap_or_default()
}
