//! Route `/emails`: accepts e-mails for the pipeline, as a payload or as a finished message.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use postrider_hub::access::{Actor, Role};
use postrider_hub::audit::Change;
use postrider_hub::idempotency::IdempotentRequest;
use postrider_hub::{Error, Hub};
use postrider_seams::store;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::ToSchema;

use super::auth::Caller;
use super::body::{is_json, parse_any, read_bytes};
use super::idempotency::{IdempotencyHeader, IdempotencyKey};
use super::jobs::traceparent;
use super::json_checks::NO_NUL;
use super::params::Params;
use super::{Api, Problem};

/// Accepts e-mails for the lanes of the e-mail pipeline.
#[async_trait]
pub trait EmailIntake: Send + Sync {
    /// Returns the lane that accepts such e-mails; `lane` selects one of several.
    fn lane_for(&self, lane: Option<&str>, kind: EmailKind) -> Result<IntakeLane, Refusal>;

    /// Writes the file of an e-mail, then its row, with the caller's trace if the table has a column for it.
    /// Returns its id. Not idempotent: a second e-mail with the same id is refused.
    async fn accept(
        &self,
        lane: &IntakeLane,
        kind: EmailKind,
        id: Option<String>,
        bytes: Bytes,
        trace: Option<String>,
    ) -> Result<String, Refusal>;
}

/// The kind of a request body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmailKind {
    /// A JSON payload, from which the message is made.
    Payload,
    /// A finished message, sent unchanged.
    Eml,
}

/// A lane that accepts e-mails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IntakeLane {
    pub lane: String,
    /// Initial state of an e-mail, as the table has it.
    pub status: String,
    /// Maximum size of an e-mail in bytes.
    pub limit: usize,
}

impl IntakeLane {
    fn accepted(self, id: String) -> AcceptedEmail {
        AcceptedEmail { id, status: self.status, lane: self.lane }
    }
}

/// The reason why an e-mail was refused; nothing of it is stored.
#[derive(Debug)]
pub enum Refusal {
    /// No lane accepts it, or several do and none was named.
    NoLane(String),
    /// The id is invalid.
    Id(String),
    Duplicate(String),
    /// The file could not be written.
    Disk(String),
    Store(store::Error),
}

/// An e-mail that was accepted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
pub struct AcceptedEmail {
    /// Id of the e-mail.
    pub id: String,
    /// State of its row: `ACCEPTED` for a payload, `READY` for a finished message.
    pub status: String,
    /// Lane that delivers the e-mail.
    pub lane: String,
}

/// Query parameters of `/emails`: the lane and the id.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EmailParams {
    /// Lane that accepts the e-mail; required if several lanes do. Default: the only lane that does.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9_-]{1,64}$")]
    lane: Option<String>,
    /// Id of the e-mail. A payload may contain it as `id`. Default: a new UUID.
    #[param(min_length = 1, max_length = 36, pattern = "^[A-Za-z0-9_-][A-Za-z0-9._-]{0,35}$")]
    id: Option<String>,
}

/// The payload of an e-mail.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(as = NewEmail)]
#[expect(dead_code, reason = "it describes what intake reads; here only the id is looked at")]
pub struct NewEmail {
    /// Id of the e-mail. Default: the parameter `id`, or a new UUID.
    id: Option<String>,
    /// Sender. Default: the sender in the lane's settings; required if there is none there.
    #[schema(example = "Shop <shop@example.org>")]
    from: Option<String>,
    /// Address for replies. Default: none.
    reply_to: Option<String>,
    /// Recipients. Default: none.
    #[schema(example = json!(["ann@example.net"]))]
    to: Option<Vec<String>>,
    /// Recipients of a copy. Default: none.
    cc: Option<Vec<String>>,
    /// Recipients of a copy that the others do not see. Default: none.
    bcc: Option<Vec<String>>,
    /// Subject. Default: none.
    subject: Option<String>,
    /// Body as plain text. Default: none.
    body_text: Option<String>,
    /// Body as HTML. Default: none.
    body_html: Option<String>,
    /// Attachments: files below the lane's base folder, or base64. Default: none.
    #[schema(value_type = Option<Vec<Object>>)]
    attachments: Option<serde_json::Value>,
    /// Additional headers. Default: none.
    #[schema(value_type = Option<Object>)]
    custom_headers: Option<serde_json::Value>,
}

/// Send an e-mail
///
/// Accepts a payload as JSON, or a finished message that is sent unchanged.
#[utoipa::path(post, path = "/emails", tag = "emails",
    params(EmailParams, IdempotencyHeader,
        ("traceparent" = Option<String>, Header, description = "Trace that the e-mail belongs to (W3C Trace Context).")),
    request_body(content((NewEmail = "application/json"), (String = "message/rfc822"))),
    responses((status = 202, description = "The e-mail was accepted: its file and its row are written", body = AcceptedEmail),
        (status = 200, description = "The request was repeated: the first e-mail", body = AcceptedEmail),
        (status = 404, description = "No lane accepts e-mails", body = Problem, content_type = "application/problem+json")))]
pub async fn create(
    State(api): State<Api>,
    caller: Caller,
    Params(params): Params<EmailParams>,
    key: IdempotencyKey,
    request: Request,
) -> Result<(StatusCode, Json<AcceptedEmail>), Problem> {
    caller.of_all_clients(Role::Producer)?;
    let Some(intake) = api.email_intake.clone() else { return Err(no_lane("no lane accepts e-mails")) };
    let kind = kind_of(request.headers())?;
    let lane = intake.lane_for(params.lane.as_deref(), kind).map_err(refusal_problem)?;
    let trace = traceparent(request.headers());
    let body = read_bytes(request, lane.limit).await?;
    let large_bodies = api.large_bodies.clone();
    let email = NewEmailRequest { intake, lane, kind, id: params.id, key, trace };
    large_bodies.run(body, async move |bytes| accept(&api, &caller, email, bytes).await).await
}

/// A request for a new e-mail, without its body.
struct NewEmailRequest {
    intake: Arc<dyn EmailIntake>,
    lane: IntakeLane,
    kind: EmailKind,
    id: Option<String>,
    key: IdempotencyKey,
    trace: Option<String>,
}

async fn accept(
    api: &Api,
    caller: &Caller,
    email: NewEmailRequest,
    bytes: Bytes,
) -> Result<(StatusCode, Json<AcceptedEmail>), Problem> {
    let actor = caller.of_all_clients(Role::Producer)?;
    let NewEmailRequest { intake, lane, kind, id, key, trace } = email;
    let id = match kind {
        EmailKind::Payload => chosen_id(id, payload_id(&bytes)?)?,
        // RFC 5322 forbids NUL, and no relay would accept it.
        EmailKind::Eml if bytes.contains(&0) => return Err(Problem::invalid("body", NO_NUL)),
        EmailKind::Eml => id,
    };
    let hub = api.hub()?;
    // The content is copied only if there is a key to compare it for.
    let content = || format!("{} {id:?} {}", lane.lane, String::from_utf8_lossy(&bytes));
    let request_key = if key.0.is_some() { key.with_content(&content()) } else { None };
    if let Some(request_key) = &request_key
        && let Some(made) = hub.find_created(actor, KIND, request_key).await?
    {
        return Ok((StatusCode::OK, Json(lane.accepted(made))));
    }
    // The id is derived from the idempotency key: a crash before the key is stored creates no second e-mail.
    let id = id.or_else(|| request_key.as_ref().map(|request_key| request_key.uuid(actor, KIND)));
    let id = match (intake.accept(&lane, kind, id, bytes, trace).await, &request_key) {
        (Err(refusal @ Refusal::Duplicate(_)), Some(request_key)) => {
            let earlier =
                wait_for_created(hub, actor, request_key).await?.ok_or_else(|| refusal_problem(refusal))?;
            return Ok((StatusCode::OK, Json(lane.accepted(earlier))));
        }
        (accepted, _) => accepted.map_err(refusal_problem)?,
    };
    let change = Change::new("create", KIND, &id).detail("lane", lane.lane.clone());
    if let Err(error) = hub.write_audit_entry(actor, change).await {
        // Its table may be in another database. The e-mail is accepted anyway: after an error it would be sent again.
        tracing::error!(%error, email = id, "an accepted e-mail is missing in the audit log");
    }
    if let Some(request_key) = &request_key
        && let Err(error) = hub.store_request(actor, KIND, request_key, &id).await
    {
        // The e-mail is accepted anyway; a repetition of the request is then a duplicate.
        tracing::warn!(%error, "cannot store an idempotency key");
    }
    Ok((StatusCode::ACCEPTED, Json(lane.accepted(id))))
}

/// Waits for the key of a concurrent equal request, whose e-mail exists already.
async fn wait_for_created(
    hub: &Hub,
    actor: &Actor,
    request_key: &IdempotentRequest,
) -> Result<Option<String>, Problem> {
    for _ in 0..KEY_QUERIES {
        if let Some(made) = hub.find_created(actor, KIND, request_key).await? {
            return Ok(Some(made));
        }
        tokio::time::sleep(KEY_QUERY_DELAY).await;
    }
    Ok(None)
}

/// Number of queries for that key, and the delay between them.
const KEY_QUERIES: u32 = 10;
const KEY_QUERY_DELAY: Duration = Duration::from_millis(50);

/// Kind of the objects for which the `Idempotency-Key` is stored.
const KIND: &str = "email";

fn kind_of(headers: &HeaderMap) -> Result<EmailKind, Problem> {
    if is_json(headers) {
        return Ok(EmailKind::Payload);
    }
    let detail =
        "the body must be a payload (`Content-Type: application/json`) or a message (`message/rfc822`)";
    let kind = is_message(headers).then_some(EmailKind::Eml);
    kind.ok_or_else(|| Problem::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, detail))
}

fn is_message(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("message/rfc822")
}

/// The members of a payload that the API reads; intake reads the others.
#[derive(Deserialize)]
struct PayloadMembers {
    #[serde(default)]
    id: Option<Box<RawValue>>,
}

/// Reads the id of a payload; everything else is checked later, by the pipeline.
fn payload_id(bytes: &[u8]) -> Result<Option<String>, Problem> {
    let PayloadMembers { id } = parse_any(bytes)?;
    let text = |id: Box<RawValue>| serde_json::from_str::<Option<String>>(id.get());
    id.map(text).transpose().map(Option::flatten).map_err(|_| Problem::invalid("id", "must be text"))
}

fn chosen_id(given: Option<String>, own: Option<String>) -> Result<Option<String>, Problem> {
    match (given, own) {
        (Some(given), Some(own)) if given != own => {
            Err(Problem::invalid("id", "differs from the id in the payload"))
        }
        (given, own) => Ok(own.or(given)),
    }
}

fn no_lane(text: impl Into<String>) -> Problem {
    Problem::new(StatusCode::NOT_FOUND, text)
}

fn refusal_problem(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::NoLane(text) => no_lane(text),
        Refusal::Id(text) => Problem::invalid("id", text),
        Refusal::Duplicate(text) => Problem::new(StatusCode::CONFLICT, text),
        Refusal::Disk(text) => {
            // The error names folders: it belongs in the log, not in the response.
            tracing::error!(error = text, "cannot write the file of an e-mail");
            Problem::new(StatusCode::SERVICE_UNAVAILABLE, "the file could not be written; try again later")
        }
        Refusal::Store(error) => Error::from(error).into(),
    }
}
