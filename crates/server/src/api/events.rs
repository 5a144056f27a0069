//! Routes of `/events`.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use postrider_hub::Moment;
use postrider_hub::access::Role;
use postrider_hub::event::{CloudEvent, CreatedEvent, CreatedJobs, Event, EventFilter};
use postrider_hub::page::{Page, PageQuery};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::{Caller, OperatorCaller, ProducerCaller};
use super::batch::{EventBatchOutcome, create_events};
use super::body::{BatchBody, MaybeBody};
use super::cloudevents::{CloudEventBody, add_trace};
use super::idempotency::IdempotencyKey;
use super::params::{Form, Id, Params, check};
use super::{Api, Problem};

/// Query parameters of the list of events.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct EventParams {
    /// Only events of this client. Default: all.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    client_id: Option<String>,
    /// Only events of this type. Default: all.
    #[param(min_length = 1, max_length = 255, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    code: Option<String>,
    /// Only events received at this time or later. Default: all.
    created_after: Option<Moment>,
    /// Only events received before this time. Default: all.
    created_before: Option<Moment>,
    /// Maximum number of entries. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page. Default: the first page.
    #[param(min_length = 1, max_length = 500, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List events
///
/// Returns events newest first.
#[utoipa::path(get, path = "/events", tag = "events", params(EventParams),
    responses((status = 200, description = "A page of events", body = Page<Event>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(params): Params<EventParams>,
) -> Result<Json<Page<Event>>, Problem> {
    let actor = caller.at_least(Role::Viewer)?;
    check(&[("clientId", &params.client_id, Form::Slug(64)), ("code", &params.code, Form::Line(255))])?;
    let filter = EventFilter {
        client_id: params.client_id,
        code: params.code,
        created_after: params.created_after,
        created_before: params.created_before,
    };
    let page = PageQuery { limit: params.limit, cursor: params.cursor };
    Ok(Json(api.hub()?.events(actor, &filter, &page).await?))
}

/// Result of sending one event, or of each event of a list.
#[derive(Debug, Serialize, ToSchema)]
#[serde(untagged)]
pub enum EventResult {
    One(CreatedEvent),
    Many(EventBatchOutcome),
}

/// Send an event
///
/// Accepts a CloudEvent 1.0 and creates a job for each matching subscription. The event is structured JSON, or binary
/// with its attributes in `ce-` headers. A list (`application/cloudevents-batch+json`) is handled as in
/// `/events/batch`.
#[utoipa::path(post, path = "/events", tag = "events",
    request_body(content((CloudEvent = "application/cloudevents+json"), (CloudEvent = "application/json"),
        (Vec<CloudEvent> = "application/cloudevents-batch+json"))),
    params(("Idempotency-Key" = Option<String>, Header, description = "Events are recognised by their id, so a key is not needed. A different request with the same key within 24 hours is refused with 409.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$"),
        ("traceparent" = Option<String>, Header, description = "Trace of an event that has no `traceparent` attribute (W3C Trace Context).")),
    responses((status = 201, description = "The event was received and its jobs created", body = CreatedEvent),
        (status = 200, description = "The event was received before: no job was created. For a list: the result of each event", body = EventResult)))]
pub async fn create(
    State(api): State<Api>,
    ProducerCaller(caller): ProducerCaller,
    key: IdempotencyKey,
    headers: HeaderMap,
    body: CloudEventBody,
) -> Result<(StatusCode, Json<EventResult>), Problem> {
    let mut event = match body {
        CloudEventBody::One(event) => event,
        CloudEventBody::Many(body) => {
            let Json(made) =
                create_events(State(api), ProducerCaller(caller), key, headers, BatchBody(body)).await?;
            return Ok((StatusCode::OK, Json(EventResult::Many(made))));
        }
    };
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Producer)?);
    // The event is written out only if there is a key to compare it for.
    let content = || serde_json::to_string(&event).unwrap_or_default();
    let request = if key.0.is_some() { key.with_content(&content()) } else { None };
    if let Some(request) = &request {
        hub.find_created(actor, "event", request).await?;
    }
    add_trace(&mut event, &headers);
    // An event that exists already gets the same response again, found by its id.
    let made = hub.create_event(actor, event).await?;
    if let Some(request) = &request {
        hub.store_request(actor, "event", request, &made.id).await?;
    }
    let status = if made.known { StatusCode::OK } else { StatusCode::CREATED };
    Ok((status, Json(EventResult::One(made))))
}

/// Get an event
///
/// Returns the event as it was received.
#[utoipa::path(get, path = "/events/{id}", tag = "events", params(("id" = String, Path, description = "Id of the event")),
    responses((status = 200, description = "The event", body = Event)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<Event>, Problem> {
    Ok(Json(api.hub()?.event(caller.at_least(Role::Viewer)?, &id).await?))
}

/// The subscriptions to create jobs for.
#[derive(Debug, Default, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replay {
    /// Only this subscription. Default: all that match.
    #[schema(pattern = "^[0-9A-HJKMNP-TV-Z]{13}$")]
    subscription_id: Option<String>,
}

/// Replay an event
///
/// Creates new jobs for the subscriptions that match the event now.
#[utoipa::path(post, path = "/events/{id}/replay", tag = "events", request_body = Option<Replay>,
    params(("id" = String, Path, description = "Id of the event"), ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key within 24 hours returns the first jobs.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 200, description = "The new jobs", body = CreatedJobs)))]
pub async fn replay(
    State(api): State<Api>,
    OperatorCaller(caller): OperatorCaller,
    key: IdempotencyKey,
    Id(id): Id,
    MaybeBody(replay): MaybeBody<Replay>,
) -> Result<Json<CreatedJobs>, Problem> {
    let actor = caller.at_least(Role::Operator)?;
    let only = replay.subscription_id.as_deref();
    let request = key.with_content(&format!("{id} {}", only.unwrap_or_default()));
    Ok(Json(api.hub()?.replay(actor, &id, only, request.as_ref()).await?))
}
