//! `/subscriptions`

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

/// Subscriptions, newest first.
#[utoipa::path(get, path = "/subscriptions", tag = "subscriptions", params(PageParams),
    responses((status = 200, description = "A page of subscriptions", body = Page<Subscription>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<Subscription>>, Problem> {
    Ok(Json(api.hub()?.subscriptions(caller.at_least(Role::Viewer)?, &page.query()).await?))
}

/// Makes a subscription.
#[utoipa::path(post, path = "/subscriptions", tag = "subscriptions", request_body = NewSubscription,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same request again, within a day, answers with what the first made.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 201, description = "The subscription", body = Subscription),
        (status = 200, description = "The same request was made before: its subscription", body = Subscription)))]
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

/// One subscription.
#[utoipa::path(get, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path)),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.subscription(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Puts another in its place; code and client stay.
#[utoipa::path(put, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path)),
    request_body = NewSubscription, responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn put(
    State(api): State<Api>,
    ByOperator(caller): ByOperator,
    Id(id): Id,
    Body(what): Body<NewSubscription>,
) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.change_subscription(caller.at_least(Role::Operator)?, &id, &what).await?))
}

/// Takes it away: events make no more jobs for it. A conflict while jobs of it are still to be delivered.
#[utoipa::path(delete, path = "/subscriptions/{id}", tag = "subscriptions", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone")))]
pub async fn delete(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    api.hub()?.delete_subscription(caller.at_least(Role::Operator)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Its jobs wait; events go on making them.
#[utoipa::path(post, path = "/subscriptions/{id}/pause", tag = "subscriptions", params(("id" = String, Path)),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.pause_subscription(caller.at_least(Role::Operator)?, &id, true).await?))
}

/// Its jobs go on.
#[utoipa::path(post, path = "/subscriptions/{id}/resume", tag = "subscriptions", params(("id" = String, Path)),
    responses((status = 200, description = "The subscription", body = Subscription)))]
pub async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<Subscription>, Problem> {
    Ok(Json(api.hub()?.pause_subscription(caller.at_least(Role::Operator)?, &id, false).await?))
}

/// Sends a made-up event to its target.
#[utoipa::path(post, path = "/subscriptions/{id}/test", tag = "subscriptions",
    params(("id" = String, Path), ("Idempotency-Key" = Option<String>, Header, description = "The same request again, within a day, answers with the job that the first made.",
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
