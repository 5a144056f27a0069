//! Routes of `/dispatch-pools`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::page::Page;
use postrider_hub::pool::{DispatchPool, NewPool, PoolChange};

use super::auth::{Caller, OperatorCaller};
use super::body::Body;
use super::idempotency::{IdempotencyHeader, IdempotentBody, create_once};
use super::params::{Id, PageParams, Params};
use super::{Api, Problem};

/// List pools
///
/// Returns pools newest first.
#[utoipa::path(get, path = "/dispatch-pools", tag = "dispatch pools", params(PageParams),
    responses((status = 200, description = "A page of pools", body = Page<DispatchPool>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<DispatchPool>>, Problem> {
    Ok(Json(api.hub()?.pools(caller.at_least(Role::Viewer)?, &page.query()).await?))
}

/// Create a pool
///
/// Jobs and subscriptions refer to the pool by its id.
#[utoipa::path(post, path = "/dispatch-pools", tag = "dispatch pools", request_body = NewPool,
    params(IdempotencyHeader),
    responses((status = 201, description = "The pool", body = DispatchPool),
        (status = 200, description = "The request was repeated: the first pool", body = DispatchPool)))]
pub async fn create(
    State(api): State<Api>,
    OperatorCaller(caller): OperatorCaller,
    IdempotentBody { new, request }: IdempotentBody<NewPool>,
) -> Result<(StatusCode, Json<DispatchPool>), Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Operator)?);
    let make = hub.create_pool(actor, new);
    let made = create_once((hub, actor), "pool", request, make, |made| &made.id).await?;
    made.response(async |id| hub.pool(actor, id).await).await
}

/// Get a pool
///
/// Returns the limits of the pool, and whether it is paused.
#[utoipa::path(get, path = "/dispatch-pools/{id}", tag = "dispatch pools", params(("id" = String, Path, description = "Id of the pool")),
    responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.pool(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Change a pool
///
/// Replaces its name, description and limits. New limits apply within seconds.
#[utoipa::path(put, path = "/dispatch-pools/{id}", tag = "dispatch pools", params(("id" = String, Path, description = "Id of the pool")),
    request_body = PoolChange, responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn put(
    State(api): State<Api>,
    OperatorCaller(caller): OperatorCaller,
    Id(id): Id,
    Body(what): Body<PoolChange>,
) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.change_pool(caller.at_least(Role::Operator)?, &id, &what).await?))
}

/// Delete a pool
///
/// Refused with 409 while a subscription or an unfinished job uses the pool.
#[utoipa::path(delete, path = "/dispatch-pools/{id}", tag = "dispatch pools", params(("id" = String, Path, description = "Id of the pool")),
    responses((status = 204, description = "Deleted")))]
pub async fn delete(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    api.hub()?.delete_pool(caller.at_least(Role::Operator)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Pause a pool
///
/// Jobs of the pool wait and use no attempt.
#[utoipa::path(post, path = "/dispatch-pools/{id}/pause", tag = "dispatch pools", params(("id" = String, Path, description = "Id of the pool")),
    responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.pause_pool(caller.at_least(Role::Operator)?, &id, true).await?))
}

/// Resume a pool
///
/// Jobs of the pool are delivered again.
#[utoipa::path(post, path = "/dispatch-pools/{id}/resume", tag = "dispatch pools", params(("id" = String, Path, description = "Id of the pool")),
    responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.pause_pool(caller.at_least(Role::Operator)?, &id, false).await?))
}
