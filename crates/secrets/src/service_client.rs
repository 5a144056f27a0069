//! HTTP requests to the services that store secrets: JSON with a time limit.

use std::time::Duration;

use bytes::Bytes;
use postrider_http::{
    Client, ClientSettings, Guard, HeaderMap, HeaderName, HeaderValue, HttpRequest, HttpResponse,
    RequestLimits,
};
use postrider_http::{Method, Roots, Target};
use postrider_seams::secret::Error;
use serde_json::Value;

/// Time limit of a request; rows wait for the answer.
const REQUEST_TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum size of an answer, in bytes. Secrets of these services have at most 64 KiB.
const MAX_RESPONSE: usize = 1024 * 1024;

pub(crate) struct ServiceClient {
    client: Client,
}

pub(crate) struct ServiceRequest<'a> {
    /// Name of the service, for error messages.
    pub service_name: &'a str,
    pub method: Method,
    pub url: &'a str,
    pub headers: Vec<(&'static str, String)>,
    pub body: Bytes,
}

impl ServiceClient {
    /// Creates a client that may connect to any address, because the operator chooses the addresses.
    pub fn new(roots: Roots) -> Result<Self, Error> {
        let settings =
            ClientSettings { guard: Guard::allow_all(), roots, connections: 64, ..ClientSettings::default() };
        Client::new(&settings).map(|client| Self { client }).map_err(Error::Reference)
    }

    /// Sends a request and returns the answer of any status; an error if the service cannot be reached.
    pub async fn send(&self, request: ServiceRequest<'_>) -> Result<HttpResponse, Error> {
        let service_name = request.service_name;
        let target = Target::parse(request.url)
            .map_err(|error| Error::Reference(format!("{service_name}: invalid request: {error}")))?;
        let mut headers = HeaderMap::new();
        for (name, value) in request.headers {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                Error::Reference(format!("{service_name}: {name} is not a valid header value"))
            })?;
            // Most of the headers contain tokens.
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        let http_request = HttpRequest { method: request.method, target, headers, body: request.body };
        let response =
            self.client.send(&http_request, RequestLimits::within(REQUEST_TIMEOUT, MAX_RESPONSE)).await;
        response.map_err(|error| Error::Unavailable(format!("{service_name} can't be reached: {error}")))
    }
}

/// Parses the body of an answer; null if it is not JSON.
pub(crate) fn json(response: &HttpResponse) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_default()
}

/// Converts a status to an error, if the answer has no more specific one: 429 and 5xx are temporary.
pub(crate) fn by_status(service_name: &str, status: u16, text: &str) -> Error {
    let text = text.chars().take(200).filter(|c| !c.is_control()).collect::<String>();
    let text = format!("{service_name} answered {status} {text}").trim_end().to_owned();
    match status {
        429 | 500..=599 => Error::Unavailable(text),
        _ => Error::Refused(text),
    }
}
