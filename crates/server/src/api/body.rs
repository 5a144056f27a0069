//! Request bodies: JSON of a bounded size; an unknown member is refused with its name.

use std::time::Duration;

use axum::body::{BodyDataStream, Bytes};
use axum::extract::{FromRequest, Request};
use axum::http::{HeaderMap, StatusCode, header};
use futures::StreamExt as _;
use postrider_hub::Fault;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use utoipa::ToSchema;

use super::body_budget::BodyShare;
use super::body_mistakes::BodySchema;
use super::json_checks::CheckedJson;
use super::strict_json::Strict;
use super::{Api, Problem};

/// A required JSON body.
pub struct Body<T>(pub T);

/// The JSON body of a batch, which may be larger; not parsed yet.
pub struct BatchBody(pub ReceivedBody);

/// An optional JSON body; the default if it is empty.
pub struct MaybeBody<T>(pub T);

/// The bytes of a body, and their share of the byte budget.
pub(crate) struct ReceivedBody {
    pub bytes: Bytes,
    pub share: Option<BodyShare>,
}

impl<T: DeserializeOwned + ToSchema + Send + 'static> FromRequest<Api> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        api.large_bodies.parse(read(request, api.limits.body).await?, parse_json).await.map(Self)
    }
}

impl FromRequest<Api> for BatchBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        read(request, api.limits.batch_body).await.map(Self)
    }
}

impl<T: DeserializeOwned + ToSchema + Default + Send + 'static> FromRequest<Api> for MaybeBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let typed = request.headers().contains_key(header::CONTENT_TYPE);
        if typed {
            let body = read(request, api.limits.body).await?;
            let given: Option<T> = api.large_bodies.parse(body, parse_optional).await?;
            return Ok(Self(given.unwrap_or_default()));
        }
        let body = read_bytes(request, api.limits.body).await?;
        if body.bytes.is_empty() { Ok(Self(T::default())) } else { Err(not_json()) }
    }
}

fn not_json() -> Problem {
    let text = "the body must be JSON: send `Content-Type: application/json`";
    Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, text)
        .with_faults(vec![Fault::outside_body("Content-Type", "must be application/json")])
}

pub(crate) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    kind == "application/json" || (kind.starts_with("application/") && kind.ends_with("+json"))
}

pub(crate) async fn read(request: Request, limit: usize) -> Result<ReceivedBody, Problem> {
    if is_json(request.headers()) { read_bytes(request, limit).await } else { Err(not_json()) }
}

pub(crate) async fn read_bytes(request: Request, limit: usize) -> Result<ReceivedBody, Problem> {
    if let Some(coding) = request.headers().get(header::CONTENT_ENCODING)
        && !coding.as_bytes().eq_ignore_ascii_case(b"identity")
    {
        let text = "must be left out: compressed bodies are not supported";
        let problem =
            Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "the body is compressed or otherwise encoded");
        return Err(problem.with_faults(vec![Fault::outside_body("Content-Encoding", text)]));
    }
    let length = request.headers().get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok());
    let length = length.and_then(|length| length.parse::<usize>().ok());
    // A client that sent `Expect: 100-continue` has not sent the body yet, and will not after a refusal.
    let asks = request.headers().contains_key(header::EXPECT);
    let share = request.extensions().get::<BodyShare>().cloned();
    let mut body = request.into_body().into_data_stream();
    if length.is_some_and(|length| length > limit) {
        if !asks {
            drain(&mut body).await;
        }
        return Err(too_large(limit));
    }
    // Reserve nothing for bytes that are only announced.
    let mut bytes = Vec::new();
    let start = Instant::now();
    while let Some(part) = next(&mut body, start, bytes.len()).await? {
        let unread = |_| Problem::new(StatusCode::BAD_REQUEST, "the body ended early");
        let part = part.map_err(unread)?;
        if bytes.len() + part.len() > limit {
            drain(&mut body).await;
            return Err(too_large(limit));
        }
        if let Some(Err(full)) = share.as_ref().map(|share| share.grow_to(bytes.len() + part.len())) {
            drain(&mut body).await;
            return Err(full);
        }
        if bytes.len() > BUFFER_GROWTH && bytes.capacity() - bytes.len() < part.len() {
            // Doubling a large buffer would use twice the bytes that the budget counts.
            bytes.reserve_exact(part.len().max(BUFFER_GROWTH));
        }
        bytes.extend_from_slice(&part);
    }
    Ok(ReceivedBody { bytes: bytes.into(), share })
}

/// Returns the refusal of a body, or of an entry of a batch, that is larger than `limit`.
pub(crate) fn too_large(limit: usize) -> Problem {
    let text = format!("must have at most {limit} bytes");
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("the body {text}"))
        .with_faults(vec![Fault::new("body", text)])
}

/// Reads the next part of a body, which must arrive within [`PART_TIMEOUT`], and fast enough overall.
async fn next(
    body: &mut BodyDataStream,
    start: Instant,
    read: usize,
) -> Result<Option<Result<Bytes, axum::Error>>, Problem> {
    let seconds = u64::try_from(read / MIN_BYTES_PER_SECOND).unwrap_or(u64::MAX);
    let over = start + BODY_TIMEOUT + Duration::from_secs(seconds.min(3600));
    let late = over.min(Instant::now() + PART_TIMEOUT);
    let too_slow = |_| Problem::new(StatusCode::REQUEST_TIMEOUT, "the body arrived too slowly");
    tokio::time::timeout_at(late, body.next()).await.map_err(too_slow)
}

/// Time limit between two parts of a body.
const PART_TIMEOUT: Duration = Duration::from_secs(10);
/// Time limit of a whole body, plus a second per this many bytes.
const BODY_TIMEOUT: Duration = Duration::from_secs(30);
const MIN_BYTES_PER_SECOND: usize = 16 << 10;
/// Growth of the buffer of a large body.
const BUFFER_GROWTH: usize = 256 << 10;

/// Reads and drops a refused body, within limits: a client that is still writing would see a closed connection instead
/// of the response.
async fn drain(body: &mut BodyDataStream) {
    let reading = async {
        let mut drained = 0;
        while let Some(Ok(part)) = body.next().await {
            drained += part.len();
            if drained > MAX_DRAINED_BYTES {
                break;
            }
        }
    };
    // A slower client is cut off.
    let _ = tokio::time::timeout(DRAIN_TIMEOUT, reading).await;
}

const MAX_DRAINED_BYTES: usize = 32 << 20;
const DRAIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Parses and checks a body; the error lists every mistake in its structure.
pub(crate) fn parse_json<T: DeserializeOwned + ToSchema>(bytes: &[u8]) -> Result<T, Problem> {
    parse_checked(bytes, BodySchema::of::<T>)
}

/// Parses and checks a body that may be null.
fn parse_optional<T: DeserializeOwned + ToSchema>(bytes: &[u8]) -> Result<Option<T>, Problem> {
    parse_checked(bytes, BodySchema::optional::<T>)
}

/// Parses and checks a body whose members are parsed later.
pub(crate) fn parse_any<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    parse_checked(bytes, BodySchema::any)
}

fn parse_checked<T: DeserializeOwned>(bytes: &[u8], schema: fn() -> BodySchema) -> Result<T, Problem> {
    let value = read_as(bytes, schema)?;
    read_as::<CheckedJson>(bytes, schema)?;
    Ok(value)
}

/// Parses a body without the checks of [`parse_json`], for lists whose entries are checked one by one. The schema is
/// needed only if serde refuses the body.
pub(crate) fn read_as<T: DeserializeOwned>(bytes: &[u8], schema: fn() -> BodySchema) -> Result<T, Problem> {
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let refused = |field: &str, error: &serde_json::Error| {
        let mistakes = if error.is_data() { schema().mistakes(bytes) } else { Vec::new() };
        parse_problem(field, error, mistakes)
    };
    let value: T = serde_path_to_error::deserialize(Strict(&mut json)).map_err(|error| {
        // serde writes a question mark for a member without a name.
        let path = error.path().to_string();
        refused(path.trim_end_matches('?').trim_end_matches('.'), error.inner())
    })?;
    json.end().map_err(|error| refused("", &error))?;
    Ok(value)
}

/// Converts a parse error: invalid JSON is 400; valid JSON with mistakes in its structure lists them, or what serde says
/// if the schema allows what serde refuses.
fn parse_problem(at: &str, error: &serde_json::Error, mistakes: Vec<Fault>) -> Problem {
    let whole = error.to_string();
    let (text, _) = whole.rsplit_once(" at line ").unwrap_or((&whole, ""));
    let faults = || vec![Fault::new(if at.is_empty() { "body" } else { at }, text)];
    if !error.is_data() {
        return Problem::new(StatusCode::BAD_REQUEST, format!("the body is not JSON: {whole}"))
            .with_faults(faults());
    }
    let faults = if mistakes.is_empty() { faults() } else { mistakes };
    Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "the request is not valid: see `errors`")
        .with_faults(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    type Part = Result<Vec<u8>, std::io::Error>;

    /// Returns the time until a body like this is refused.
    async fn refused(parts: impl futures::Stream<Item = Part> + Send + 'static) -> Duration {
        let start = Instant::now();
        let request = Request::new(axum::body::Body::from_stream(parts));
        let read = read_bytes(request, 1 << 20).await;
        assert_eq!(read.err().map(|problem| problem.status().as_u16()), Some(408));
        start.elapsed()
    }

    #[tokio::test(start_paused = true)]
    async fn a_stalled_or_slow_body_is_refused() {
        assert_eq!(refused(futures::stream::pending::<Part>()).await, PART_TIMEOUT);
        let drip = futures::stream::unfold((), |()| async {
            tokio::time::sleep(PART_TIMEOUT / 2).await;
            Some((Ok(vec![b' ']), ()))
        });
        assert_eq!(refused(drip).await, BODY_TIMEOUT);
    }
}
