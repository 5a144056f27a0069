//! Requests to the services that keep secrets: JSON in, JSON out, by a deadline.

use std::time::Duration;

use bytes::Bytes;
use postrider_http::{
    Answer, Call, Client, ClientSettings, Guard, HeaderMap, HeaderName, HeaderValue, Limits,
};
use postrider_http::{Method, Roots, Target};
use postrider_seams::secret::Error;
use serde_json::Value;

/// Rows wait for the answer.
const TIME: Duration = Duration::from_secs(10);
/// Secrets of these services have 64 KiB at most.
const LARGEST: usize = 1024 * 1024;

pub(crate) struct Web {
    client: Client,
}

pub(crate) struct Ask<'a> {
    /// Whom we ask, for messages.
    pub whom: &'a str,
    pub method: Method,
    pub url: &'a str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

impl Web {
    /// These addresses are our operator's own choice, so none is refused.
    pub fn new(roots: Roots) -> Result<Self, Error> {
        let settings =
            ClientSettings { guard: Guard::open(), roots, connections: 64, ..ClientSettings::default() };
        Client::new(&settings).map(|client| Self { client }).map_err(Error::Reference)
    }

    pub async fn ask(&self, ask: Ask<'_>) -> Result<Answer, Error> {
        let whom = ask.whom;
        let target = Target::parse(ask.url)
            .map_err(|error| Error::Reference(format!("{whom} can't be asked: {error}")))?;
        let mut headers = HeaderMap::new();
        for (name, value) in ask.headers {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                Error::Reference(format!("{whom} can't be asked: {name} holds what no header may"))
            })?;
            // Most of them are tokens.
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let call = Call { method: ask.method, target, headers, body: ask.body };
        let answered = self.client.send(&call, Limits::within(TIME, LARGEST)).await;
        answered.map_err(|error| Error::Away(format!("{whom} can't be reached: {error}")))
    }
}

/// The answer's body, or nothing where it is no JSON.
pub(crate) fn json(answer: &Answer) -> Value {
    serde_json::from_slice(&answer.body).unwrap_or_default()
}

/// What a status means where the service says no more.
pub(crate) fn by_status(whom: &str, status: u16, words: &str) -> Error {
    let words = words.chars().take(200).filter(|c| !c.is_control()).collect::<String>();
    let text = format!("{whom} answered {status} {words}").trim_end().to_owned();
    match status {
        429 | 500..=599 => Error::Away(text),
        _ => Error::Refused(text),
    }
}
