//! HTTP requests to the services that store secrets: JSON with a time limit.

use std::time::Duration;

use bytes::Bytes;
use postrider_http::{
    Answer, Call, Client, ClientSettings, Guard, HeaderMap, HeaderName, HeaderValue, Limits,
};
use postrider_http::{Method, Roots, Target};
use postrider_seams::secret::Error;
use serde_json::Value;

/// Time limit of a request; rows wait for the answer.
const TIME: Duration = Duration::from_secs(10);
/// Maximum size of an answer, in bytes. Secrets of these services have at most 64 KiB.
const LARGEST: usize = 1024 * 1024;

pub(crate) struct Web {
    client: Client,
}

pub(crate) struct Ask<'a> {
    /// Name of the service, for error messages.
    pub whom: &'a str,
    pub method: Method,
    pub url: &'a str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

impl Web {
    /// Creates a client that may connect to any address, because the operator chooses the addresses.
    pub fn new(roots: Roots) -> Result<Self, Error> {
        let settings =
            ClientSettings { guard: Guard::open(), roots, connections: 64, ..ClientSettings::default() };
        Client::new(&settings).map(|client| Self { client }).map_err(Error::Reference)
    }

    /// Sends a request and returns the answer of any status; an error if the service cannot be reached.
    pub async fn ask(&self, ask: Ask<'_>) -> Result<Answer, Error> {
        let whom = ask.whom;
        let target = Target::parse(ask.url)
            .map_err(|error| Error::Reference(format!("{whom} can't be asked: {error}")))?;
        let mut headers = HeaderMap::new();
        for (name, value) in ask.headers {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                Error::Reference(format!("{whom} can't be asked: {name} holds what no header may"))
            })?;
            // Most of the headers contain tokens.
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let call = Call { method: ask.method, target, headers, body: ask.body };
        let answered = self.client.send(&call, Limits::within(TIME, LARGEST)).await;
        answered.map_err(|error| Error::Away(format!("{whom} can't be reached: {error}")))
    }
}

/// Parses the body of an answer; null if it is not JSON.
pub(crate) fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// Converts a status to an error, if the answer has no more specific one: 429 and 5xx are temporary.
pub(crate) fn by_status(whom: &str, status: u16, words: &str) -> Error {
    let words = words.chars().take(200).filter(|c| !c.is_control()).collect::<String>();
    let text = format!("{whom} answered {status} {words}").trim_end().to_owned();
    match status {
        429 | 500..=599 => Error::Away(text),
        _ => Error::Refused(text),
    }
}
