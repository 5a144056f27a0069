//! Routes of `/subscriptions`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::event::Replayed;
use postrider_hub::page::Page;
use postrider_hub::subscription::{NewSubscription, Subscription};

use super::admit::{ByOperator, Caller};
use super::body::Body;
use super::once::{Key, Keyed, Once, once};
use super::params::{Id, PageParams, Params};
use super::{Api, Problem};

/// List subscriptions
///
/// Newest first.
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
#[utoipa::path(post, path = "/subscriptions", tag = "subscriptions", request_body = NewSubscription,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key within 24 hours returns the first result.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 201, description = "The subscription", body = Subscription),
        (status = 200, description = "The request was repeated: the first subscription", body = Subscription)))]
pub async fn create(
    State(api): State<Api>,
    ByOperator(caller): ByOperator,
    Keyed { new, request }: Keyed<NewSubscription>,
) -> Result<(StatusCode, Json<Subscription>), Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Operator)?);
    let make = hub.create_subscription(actor, new);
    Ok(match once((hub, actor), "subscription", request, make, |made| &made.id).await? {
        Once::Made(made) => (StatusCode::CREATED, Json(made)),
        Once::Before(id) => (StatusCode::OK, Json(hub.subscription(actor, &id).await?)),
    })
}

/// Get a subscription
#[utoipa::path(get, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.subscription(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Replace a subscription
///
/// Its code and client cannot be changed.
#[utoipa::path(put, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path, description = "Id of the subscription")),
    request_body = NewSubscription, responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn put(
    State(api): State<Api>,
    ByOperator(caller): ByOperator,
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
/// Its jobs wait and use no attempt. Events still create jobs.
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
/// Its jobs are delivered again.
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
    responses((status = 200, description = "The job", body = Replayed)))]
pub async fn test(
    State(api): State<Api>,
    caller: Caller,
    key: Key,
    Id(id): Id,
) -> Result<Json<Replayed>, Problem> {
    let actor = caller.at_least(Role::Operator)?;
    let request = key.told(&id);
    Ok(Json(api.hub()?.test_subscription(actor, &id, request.as_ref()).await?))
}
