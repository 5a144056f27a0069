//! Routes of `/subscriptions`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::event::CreatedJobs;
use postrider_hub::page::Page;
use postrider_hub::subscription::{NewSubscription, Subscription};

use super::auth::{Caller, OperatorCaller};
use super::body::Body;
use super::idempotency::{IdempotencyHeader, IdempotencyKey, IdempotentBody, create_once};
use super::params::{Id, PageParams, Params};
use super::{Api, Problem};

/// List subscriptions
///
/// Returns subscriptions newest first.
#[utoipa::path(get, path = "/subscriptions", tag = "subscriptions", params(PageParams),
    responses((status = 200, description = "A page of subscriptions", body = Page<Subscription>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Subscription>>, Problem> {
    Ok(Json(api.hub()?.subscriptions(caller.at_least(Role::Viewer)?, &page.query()).await?))
}

/// Create a subscription
///
/// Events that are received from now on create jobs if they match.
#[utoipa::path(post, path = "/subscriptions", tag = "subscriptions", request_body = NewSubscription,
    params(IdempotencyHeader),
    responses((status = 201, description = "The subscription", body = Subscription),
        (status = 200, description = "The request was repeated: the first subscription", body = Subscription)))]
pub async fn create(
    State(api): State<Api>,
    OperatorCaller(caller): OperatorCaller,
    IdempotentBody { new, request }: IdempotentBody<NewSubscription>,
) -> Result<(StatusCode, Json<Subscription>), Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Operator)?);
    let make = hub.create_subscription(actor, new);
    let made = create_once((hub, actor), "subscription", request, make, |made| &made.id).await?;
    made.response(async |id| hub.subscription(actor, id).await).await
}

/// Get a subscription
///
/// Returns what the subscription matches, its target, and whether it is paused.
#[utoipa::path(get, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.subscription(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Replace a subscription
///
/// Members that are left out get their defaults. Code and client cannot be changed.
#[utoipa::path(put, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    request_body = NewSubscription, responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn put(
    State(api): State<Api>,
    OperatorCaller(caller): OperatorCaller,
    Id(id): Id,
    Body(what): Body<NewSubscription>,
) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.change_subscription(caller.at_least(Role::Operator)?, &id, &what).await?))
}

/// Delete a subscription
///
/// Events no longer create jobs for it. Refused with 409 while jobs of it are not finished.
#[utoipa::path(delete, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    responses((status = 204, description = "Deleted")))]
pub async fn delete(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    api.hub()?.delete_subscription(caller.at_least(Role::Operator)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a subscription
///
/// Jobs of the subscription wait and use no attempt. Events still create jobs.
#[utoipa::path(post, path = "/subscriptions/{id}/pause", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.pause_subscription(caller.at_least(Role::Operator)?, &id, true).await?))
}

/// Resume a subscription
///
/// Jobs of the subscription are delivered again.
#[utoipa::path(post, path = "/subscriptions/{id}/resume", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.pause_subscription(caller.at_least(Role::Operator)?, &id, false).await?))
}

/// Send a test event to a subscription
///
/// Creates a job with a sample event.
#[utoipa::path(post, path = "/subscriptions/{id}/test", tag = "subscriptions",
    params(("id" = String, Path, description = "Id of the subscription"), ("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key within 24 hours returns the first job.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 200, description = "The job", body = CreatedJobs)))]
pub async fn test(
    State(api): State<Api>,
    caller: Caller,
    key: IdempotencyKey,
    Id(id): Id,
) -> Result<Json<CreatedJobs>, Problem> {
    let actor = caller.at_least(Role::Operator)?;
    let request = key.with_content(&id);
    Ok(Json(api.hub()?.test_subscription(actor, &id, request.as_ref()).await?))
}
