//! `/dispatch-pools`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::page::Page;
use postrider_hub::pool::{DispatchPool, NewPool, PoolChange};

use super::admit::{ByOperator, Caller};
use super::body::Body;
use super::once::{Keyed, Once, once};
use super::params::{Id, PageParams, Params};
use super::{Api, Problem};

/// Pools, newest first.
#[utoipa::path(get, path = "/dispatch-pools", tag = "dispatch pools", params(PageParams),
    responses((status = 200, description = "A page of pools", body = Page<DispatchPool>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(page): Params<PageParams>,
) -> Result<Json<Page<DispatchPool>>, Problem> {
    Ok(Json(api.hub()?.pools(caller.at_least(Role::Viewer)?, &page.query()).await?))
}

/// Makes a pool.
#[utoipa::path(post, path = "/dispatch-pools", tag = "dispatch pools", request_body = NewPool,
    params(("Idempotency-Key" = Option<String>, Header, description = "The same request again, within a day, answers with what the first made.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 201, description = "The pool", body = DispatchPool),
        (status = 200, description = "The same request was made before: its pool", body = DispatchPool)))]
pub async fn create(
    State(api): State<Api>,
    ByOperator(caller): ByOperator,
    Keyed { new, request }: Keyed<NewPool>,
) -> Result<(StatusCode, Json<DispatchPool>), Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Operator)?);
    Ok(match once((hub, actor), "pool", request, hub.create_pool(actor, new), |made| &made.id).await? {
        Once::Made(made) => (StatusCode::CREATED, Json(made)),
        Once::Before(id) => (StatusCode::OK, Json(hub.pool(actor, &id).await?)),
    })
}

/// One pool.
#[utoipa::path(get, path = "/dispatch-pools/{id}", tag = "dispatch pools", params(("id" = String, Path)),
    responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.pool(caller.at_least(Role::Viewer)?, &id).await?))
}

/// Changes its limits.
#[utoipa::path(put, path = "/dispatch-pools/{id}", tag = "dispatch pools", params(("id" = String, Path)),
    request_body = PoolChange, responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn put(
    State(api): State<Api>,
    ByOperator(caller): ByOperator,
    Id(id): Id,
    Body(what): Body<PoolChange>,
) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.change_pool(caller.at_least(Role::Operator)?, &id, &what).await?))
}

/// Takes it away. A conflict while a subscription names it, or a job that is still to be delivered.
#[utoipa::path(delete, path = "/dispatch-pools/{id}", tag = "dispatch pools", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone")))]
pub async fn delete(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    api.hub()?.delete_pool(caller.at_least(Role::Operator)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Its jobs wait.
#[utoipa::path(post, path = "/dispatch-pools/{id}/pause", tag = "dispatch pools", params(("id" = String, Path)),
    responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn pause(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.pause_pool(caller.at_least(Role::Operator)?, &id, true).await?))
}

/// Its jobs go on.
#[utoipa::path(post, path = "/dispatch-pools/{id}/resume", tag = "dispatch pools", params(("id" = String, Path)),
    responses((status = 200, description = "The pool", body = DispatchPool)))]
pub async fn resume(
    State(api): State<Api>,
    caller: Caller,
    Id(id): Id,
) -> Result<Json<DispatchPool>, Problem> {
    Ok(Json(api.hub()?.pause_pool(caller.at_least(Role::Operator)?, &id, false).await?))
}
