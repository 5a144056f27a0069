//! Mailgun, `messages.mime`: sends the raw message and its recipients. Has no idempotency keys.

use bytes::Bytes;
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use postrider_broker::Secret;

use super::{Api, text};
use crate::classify::{Code, Fate, Judgement};
use crate::client::{Answer, Request};
use crate::encode::{Job, base64, digest, metadata, plain, secret};

pub(super) struct Mailgun {
    authorization: (HeaderName, HeaderValue),
    path: String,
}

impl Mailgun {
    /// Creates the API of this sending domain, with basic authentication.
    pub fn new(key: &Secret, domain: &str) -> Self {
        let login = Secret::new(base64(format!("api:{}", key.reveal()).as_bytes()));
        Self {
            authorization: secret(AUTHORIZATION, "Basic ", &login),
            path: format!("/v3/{domain}/messages.mime"),
        }
    }

    fn post(&self, form: Form) -> Request {
        let kind = HeaderValue::try_from(format!("multipart/form-data; boundary={}", form.boundary))
            .expect("a boundary is hexadecimal");
        let headers = vec![(CONTENT_TYPE, kind), self.authorization.clone()];
        Request { method: Method::POST, path: self.path.clone(), headers, body: form.finish() }
    }
}

impl Api for Mailgun {
    fn wants_parts(&self) -> bool {
        false
    }

    fn recipients(&self) -> usize {
        1000
    }

    fn request(&self, job: &Job<'_>) -> Request {
        let mut form = Form::new(&job.mail.message);
        for address in job.part.addresses() {
            form.field("to", address);
        }
        for (name, value) in metadata(job) {
            form.field(&format!("v:{}", plain(name, 64)), value);
        }
        form.message(&job.mail.message);
        self.post(form)
    }

    fn probe(&self) -> Request {
        self.post(Form::new(b""))
    }

    fn id(&self, answer: &Answer) -> Option<String> {
        answer.json()["id"].as_str().map(|id| id.trim_matches(['<', '>']).to_owned())
    }

    fn judge(&self, answer: &Answer) -> Judgement {
        let body = answer.json();
        // The gateway in front answers with plain text: "Forbidden".
        let bare = String::from_utf8_lossy(&answer.body);
        let words = if body.is_object() { text(&body, "message") } else { bare.trim() };
        let about = |part: &str| words.to_ascii_lowercase().contains(part);
        if about("not allowed to send") {
            return Judgement::new(answer, Fate::Refused, Code::Unauthorized, words);
        }
        if answer.status == 400 && about("'to' parameter") {
            return Judgement::new(answer, Fate::Rejected, Code::InvalidRecipient, words);
        }
        if answer.status == 420 {
            return Judgement::new(answer, Fate::Later, Code::RateLimited, words);
        }
        Judgement::by_status(answer, words)
    }
}

/// A `multipart/form-data` body (RFC 7578).
struct Form {
    boundary: String,
    body: Vec<u8>,
}

impl Form {
    /// Creates a form whose boundary is a digest of the message, so that the message does not contain it.
    fn new(message: &[u8]) -> Self {
        Self { boundary: digest(message), body: Vec::with_capacity(message.len() + 1024) }
    }

    fn field(&mut self, name: &str, value: &str) {
        let head = format!("--{}\r\nContent-Disposition: form-data; name=\"{name}\"\r\n\r\n", self.boundary);
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(value.replace(['\r', '\n'], " ").as_bytes());
        self.body.extend_from_slice(b"\r\n");
    }

    fn message(&mut self, message: &[u8]) {
        let head = format!(
            "--{}\r\nContent-Disposition: form-data; name=\"message\"; filename=\"message.mime\"\r\n\
             Content-Type: message/rfc822\r\n\r\n",
            self.boundary
        );
        self.body.extend_from_slice(head.as_bytes());
        self.body.extend_from_slice(message);
        self.body.extend_from_slice(b"\r\n");
    }

    fn finish(mut self) -> Bytes {
        self.body.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        self.body.into()
    }
}
