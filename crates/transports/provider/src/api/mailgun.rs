//! Mailgun, `messages.mime`: sends the raw message and its recipients. Has no idempotency keys.

use bytes::Bytes;
use http::Method;
use http::header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue};
use postrider_seams::Secret;

use super::{ProviderApi, text};
use crate::classify::{ErrorCode, FailureKind, RequestFailure};
use crate::client::{ProviderRequest, ProviderResponse};
use crate::encode::{RequestContext, base64, digest, metadata, secret_header, tag_text};

pub(super) struct Mailgun {
    authorization: (HeaderName, HeaderValue),
    path: String,
}

impl Mailgun {
    /// Creates the API of this sending domain, with basic authentication.
    pub fn new(key: &Secret, domain: &str) -> Self {
        let login = Secret::new(base64(format!("api:{}", key.reveal()).as_bytes()));
        Self {
            authorization: secret_header(AUTHORIZATION, "Basic ", &login),
            path: format!("/v3/{domain}/messages.mime"),
        }
    }

    fn post(&self, form: MultipartForm) -> ProviderRequest {
        let kind = HeaderValue::try_from(format!("multipart/form-data; boundary={}", form.boundary))
            .expect("a boundary is hexadecimal");
        let headers = vec![(CONTENT_TYPE, kind), self.authorization.clone()];
        ProviderRequest { method: Method::POST, path: self.path.clone(), headers, body: form.finish() }
    }
}

impl ProviderApi for Mailgun {
    fn needs_parsed_message(&self) -> bool {
        false
    }

    fn max_recipients(&self) -> usize {
        1000
    }

    fn request(&self, context: &RequestContext<'_>) -> ProviderRequest {
        let mut form = MultipartForm::new(&context.mail.message);
        for address in context.group.addresses() {
            form.field("to", address);
        }
        for (name, value) in metadata(context) {
            form.field(&format!("v:{}", tag_text(name, 64)), value);
        }
        form.message(&context.mail.message);
        self.post(form)
    }

    fn probe(&self) -> ProviderRequest {
        self.post(MultipartForm::new(b""))
    }

    fn id(&self, response: &ProviderResponse) -> Option<String> {
        response.json()["id"].as_str().map(|id| id.trim_matches(['<', '>']).to_owned())
    }

    fn classify_failure(&self, response: &ProviderResponse) -> RequestFailure {
        let body = response.json();
        // The gateway in front answers with plain text: "Forbidden".
        let bare = String::from_utf8_lossy(&response.body);
        let reason = if body.is_object() { text(&body, "message") } else { bare.trim() };
        let about = |group: &str| reason.to_ascii_lowercase().contains(group);
        if about("not allowed to send") {
            return RequestFailure::new(response, FailureKind::Refused, ErrorCode::Unauthorized, reason);
        }
        if response.status == 400 && about("'to' parameter") {
            return RequestFailure::new(response, FailureKind::Rejected, ErrorCode::InvalidRecipient, reason);
        }
        if response.status == 420 {
            return RequestFailure::new(response, FailureKind::Temporary, ErrorCode::RateLimited, reason);
        }
        RequestFailure::by_status(response, reason)
    }
}

/// A `multipart/form-data` body (RFC 7578).
struct MultipartForm {
    boundary: String,
    body: Vec<u8>,
}

impl MultipartForm {
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
