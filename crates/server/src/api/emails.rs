//! `/emails`: takes e-mails in for the pipeline, as a payload or as a finished message.

use async_trait::async_trait;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use postrider_hub::Error;
use postrider_hub::access::Role;
use postrider_seams::store;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::admit::Caller;
use super::body::{is_json, taken};
use super::params::Params;
use super::{Api, Problem};

/// Where e-mails go in.
#[async_trait]
pub trait Mailroom: Send + Sync {
    /// Bytes that one may have.
    fn limit(&self) -> usize;

    /// Writes its file, then its row. `lane` names one of several. Not idempotent: a second one of the same id is refused.
    async fn accept(
        &self,
        lane: Option<&str>,
        id: Option<String>,
        email: Email,
    ) -> Result<AcceptedEmail, Refusal>;
}

/// What a body holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Email {
    /// JSON, for intake.
    Payload(Bytes),
    /// A finished message, to be sent as it is.
    Eml(Bytes),
}

/// Why it was not taken; nothing is left of it.
#[derive(Debug)]
pub enum Refusal {
    /// No lane takes it, or it is not clear which.
    NoLane(String),
    /// The id can't be one.
    Id(String),
    Duplicate(String),
    /// The file could not be written.
    Disk(String),
    Store(store::Error),
}

/// An e-mail that was taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AcceptedEmail {
    pub id: String,
    /// `ACCEPTED` or `READY`, as the table has it.
    pub status: String,
    /// Which lane has it now.
    pub lane: String,
}

/// Which lane, and under which id.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EmailParams {
    /// Needed where several lanes take e-mails in.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    lane: Option<String>,
    /// The e-mail's id; a payload may have it as `id`. Without one it gets a UUID.
    #[param(min_length = 1, max_length = 36, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,35}$")]
    id: Option<String>,
}

/// A payload. Attachments are files below the lane's base folder, or base64.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewEmail)]
#[expect(dead_code, reason = "it describes what intake reads; here only the id is looked at")]
pub struct NewEmail {
    id: Option<String>,
    #[schema(example = "Shop <shop@example.org>")]
    from: Option<String>,
    reply_to: Option<String>,
    #[schema(example = json!(["ann@example.net"]))]
    to: Option<Vec<String>>,
    cc: Option<Vec<String>>,
    bcc: Option<Vec<String>>,
    subject: Option<String>,
    body_text: Option<String>,
    body_html: Option<String>,
    #[schema(value_type = Option<Vec<Object>>)]
    attachments: Option<serde_json::Value>,
    #[schema(value_type = Option<Object>)]
    custom_headers: Option<serde_json::Value>,
}

#[utoipa::path(post, path = "/emails", tag = "emails", params(EmailParams),
    request_body(content((NewEmail = "application/json"), (String = "message/rfc822"))),
    responses((status = 202, description = "It is taken: its file and its row are written", body = AcceptedEmail),
        (status = 404, description = "No lane takes e-mails in", body = Problem, content_type = "application/problem+json")))]
pub async fn create(
    State(api): State<Api>,
    caller: Caller,
    Params(params): Params<EmailParams>,
    request: Request,
) -> Result<(StatusCode, Json<AcceptedEmail>), Problem> {
    caller.of_all_clients(Role::Producer)?;
    let Some(room) = api.mailroom.clone() else { return Err(no_lane("no lane takes e-mails in")) };
    let payload = is_json(request.headers());
    if !payload && !is_message(request.headers()) {
        let detail =
            "the body is a payload (`Content-Type: application/json`) or a message (`message/rfc822`)";
        return Err(Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail));
    }
    let bytes = taken(request, room.limit()).await?;
    let (id, email) = if payload {
        (chosen_id(params.id, payload_id(&bytes)?)?, Email::Payload(bytes))
    } else {
        (params.id, Email::Eml(bytes))
    };
    let taken = room.accept(params.lane.as_deref(), id, email).await.map_err(told)?;
    Ok((StatusCode::ACCEPTED, Json(taken)))
}

fn is_message(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("message/rfc822")
}

/// All that is looked at before intake.
fn payload_id(bytes: &[u8]) -> Result<Option<String>, Problem> {
    let payload: serde_json::Value = serde_json::from_slice(bytes)
        .map_err(|error| Problem::new(StatusCode::BAD_REQUEST, format!("the body is no JSON: {error}")))?;
    let Some(payload) = payload.as_object() else {
        return Err(Problem::invalid("body", "a payload is an object"));
    };
    match payload.get("id") {
        None | Some(serde_json::Value::Null) => Ok(None),
        Some(serde_json::Value::String(id)) => Ok(Some(id.clone())),
        Some(_) => Err(Problem::invalid("id", "must be text")),
    }
}

fn chosen_id(asked: Option<String>, own: Option<String>) -> Result<Option<String>, Problem> {
    match (asked, own) {
        (Some(asked), Some(own)) if asked != own => {
            Err(Problem::invalid("id", "differs from the id in the payload"))
        }
        (asked, own) => Ok(own.or(asked)),
    }
}

fn no_lane(text: impl Into<String>) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, text)
}

fn told(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::NoLane(text) => no_lane(text),
        Refusal::Id(text) => Problem::invalid("id", text),
        Refusal::Duplicate(text) => Problem::new(StatusCode::CONFLICT, text),
        Refusal::Disk(text) => {
            // It names folders: for the log, not for callers.
            tracing::error!(error = text, "an e-mail's file could not be written");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the file could not be written; try again later")
        }
        Refusal::Store(error) => Error::from(error).into(),
    }
}
