//! `/api-keys`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::{ApiKey, NewKey, Role, ShownKey};
use serde::Serialize;
use utoipa::ToSchema;

use super::admit::Caller;
use super::body::Body;
use super::params::Id;
use super::{Api, Problem};

/// Every key that the caller may know of.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyList {
    items: Vec<ApiKey>,
}

/// Every key, and never what it opens with.
#[utoipa::path(get, path = "/api-keys", tag = "api keys",
    responses((status = 200, description = "All keys, never what they open with", body = KeyList)))]
pub async fn list(State(api): State<Api>, caller: Caller) -> Result<Json<KeyList>, Problem> {
    Ok(Json(KeyList { items: api.hub()?.keys(caller.at_least(Role::Admin)?).await? }))
}

/// Makes a key. This is the only time that it is shown.
#[utoipa::path(post, path = "/api-keys", tag = "api keys", request_body = NewKey,
    responses((status = 201, description = "The key", body = ShownKey)))]
pub async fn create(
    State(api): State<Api>,
    caller: Caller,
    Body(new): Body<NewKey>,
) -> Result<(StatusCode, Json<ShownKey>), Problem> {
    let made = api.hub()?.create_key(caller.at_least(Role::Admin)?, &new).await?;
    Ok((StatusCode::CREATED, Json(made)))
}

/// From now on it opens nothing.
#[utoipa::path(post, path = "/api-keys/{id}/revoke", tag = "api keys", params(("id" = String, Path)),
    responses((status = 200, description = "The key", body = ApiKey)))]
pub async fn revoke(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<ApiKey>, Problem> {
    Ok(Json(api.hub()?.revoke_key(caller.at_least(Role::Admin)?, &id).await?))
}
