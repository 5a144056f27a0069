//! Reads CloudEvents 1.0 in every mode of the HTTP binding: structured (in the body), binary (attributes as headers,
//! data as the body), and batched.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use postrider_hub::Fault;
use postrider_hub::event::NewEvent;
use serde_json::value::{RawValue, to_raw_value};

use super::body::{BatchBody, ReceivedBody, parse_any, read, read_bytes};
use super::jobs::traceparent;
use super::json_checks::NO_NUL;
use super::{Api, Problem};

/// Prefix of the headers of attributes.
const HEADER_PREFIX: &str = "ce-";

/// Media type of a batch.
const BATCH: &str = "application/cloudevents-batch+json";

/// Events in any mode. In binary mode, and only then, there is a header `ce-specversion`.
pub enum CloudEventBody {
    One(NewEvent),
    /// A batch, not parsed yet.
    Many(ReceivedBody),
}

impl FromRequest<Api> for CloudEventBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let kind = request.headers().get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
        let kind = kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim();
        if kind.eq_ignore_ascii_case(BATCH) {
            return BatchBody::from_request(request, api).await.map(|BatchBody(body)| Self::Many(body));
        }
        if !request.headers().contains_key("ce-specversion") {
            let body = read(request, api.limits.body).await?;
            return api
                .large_bodies
                .run(body, async move |bytes: Bytes| parse_any(&bytes).map(Self::One))
                .await;
        }
        let headers = request.headers().clone();
        let body = read_bytes(request, api.limits.body).await?;
        let work = async move |bytes: Bytes| binary(&headers, &bytes).map(Self::One);
        api.large_bodies.run(body, work).await
    }
}

/// Sets the event's trace to the request's, unless it has its own (CloudEvents extension for distributed tracing).
pub fn add_trace(event: &mut NewEvent, headers: &HeaderMap) {
    if let Some(trace) = traceparent(headers)
        && let Ok(trace) = written(&trace)
    {
        event.entry("traceparent".to_owned()).or_insert(trace);
    }
}

fn binary(headers: &HeaderMap, body: &[u8]) -> Result<NewEvent, Problem> {
    let mut event = NewEvent::new();
    for (name, value) in headers {
        let Some(name) = name.as_str().strip_prefix(HEADER_PREFIX) else { continue };
        let field = format!("{HEADER_PREFIX}{name}");
        if name.starts_with("data") && name != "dataschema" {
            return Err(Problem::parameter(
                &field,
                "is not an attribute of binary mode: the body is the data, and `Content-Type` its media type",
            ));
        }
        let text = decoded(value.as_bytes())
            .ok_or_else(|| Problem::parameter(&field, "must be printable ASCII, percent-encoded UTF-8"))?;
        if text.contains('\0') {
            return Err(Problem::parameter(&field, NO_NUL));
        }
        if event.insert(name.to_owned(), written(&text)?).is_some() {
            return Err(Problem::parameter(&field, "is given twice"));
        }
    }
    let kind = headers.get(header::CONTENT_TYPE).map(|kind| kind.to_str().unwrap_or_default());
    if let Some(kind) = kind {
        event.insert("datacontenttype".to_owned(), written(kind)?);
    }
    if !body.is_empty() {
        event.insert("data".to_owned(), data(kind.unwrap_or("application/json"), body)?);
    }
    Ok(event)
}

/// Converts the data of a binary event: JSON stays unchanged; anything else must be text.
fn data(kind: &str, body: &[u8]) -> Result<Box<RawValue>, Problem> {
    if kind.starts_with("application/json") || kind.contains("+json") {
        return parse_any(body);
    }
    let text = std::str::from_utf8(body).map_err(|_| {
        Problem::new(StatusCode::BAD_REQUEST, "the body is not UTF-8")
            .with_faults(vec![Fault::new("body", "must be text in UTF-8")])
    })?;
    if text.contains('\0') {
        return Err(Problem::invalid("body", NO_NUL));
    }
    written(text)
}

fn written(text: &str) -> Result<Box<RawValue>, Problem> {
    to_raw_value(text).map_err(|_| Problem::new(StatusCode::BAD_REQUEST, "the event cannot be read"))
}

/// Decodes percent-encoding: `%C3%BC` as `ü`.
fn decoded(value: &[u8]) -> Option<String> {
    let mut bytes = Vec::with_capacity(value.len());
    let mut rest = value.iter().copied();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let [high, low] = [rest.next()?, rest.next()?].map(|half| char::from(half).to_digit(16));
                u8::try_from(high? * 16 + low?).ok()?
            }
            b' '..=b'~' => byte,
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}
