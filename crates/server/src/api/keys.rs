//! Routes of `/api-keys`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use postrider_hub::access::{ApiKey, ApiKeyWithSecret, KEY_REQUEST, NewKey, Role};
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::{AdminCaller, Caller};
use super::idempotency::{Creation, IdempotentBody, create_once};
use super::params::Id;
use super::{Api, Problem};

/// API keys.
#[derive(Debug, Serialize, ToSchema)]
pub struct KeyList {
    /// The keys that the caller may see.
    items: Vec<ApiKey>,
}

/// List API keys
///
/// Returns the keys that the caller may see. Secrets are never shown.
#[utoipa::path(get, path = "/api-keys", tag = "api keys",
    responses((status = 200, description = "All API keys, without secrets", body = KeyList)))]
pub async fn list(State(api): State<Api>, caller: Caller) -> Result<Json<KeyList>, Problem> {
    Ok(Json(KeyList { items: api.hub()?.keys(caller.at_least(Role::Admin)?).await? }))
}

/// Create an API key
///
/// The secret is shown in this response only.
#[utoipa::path(post, path = "/api-keys", tag = "api keys", request_body = NewKey,
    params(("Idempotency-Key" = Option<String>, Header, description = "Repeating the request with the same key within 24 hours returns the API key that was created, without its secret.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 201, description = "The API key with its secret", body = ApiKeyWithSecret),
        (status = 200, description = "The request was repeated: the API key, without its secret", body = ApiKey)))]
pub async fn create(
    State(api): State<Api>,
    AdminCaller(caller): AdminCaller,
    IdempotentBody { new, request }: IdempotentBody<NewKey>,
) -> Result<Response, Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Admin)?);
    let make = hub.create_key(actor, &new, request.as_ref());
    Ok(match create_once((hub, actor), KEY_REQUEST, request.clone(), make, |made| &made.details.id).await? {
        Creation::Created(made) => (StatusCode::CREATED, Json(made)).into_response(),
        Creation::Repeated(id) => Json(hub.key(actor, &id).await?).into_response(),
    })
}

/// Revoke an API key
///
/// Requests with this key are refused from now on.
#[utoipa::path(post, path = "/api-keys/{id}/revoke", tag = "api keys", params(("id" = String, Path, description = "Id of the API key")),
    responses((status = 200, description = "The API key", body = ApiKey)))]
pub async fn revoke(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<ApiKey>, Problem> {
    Ok(Json(api.hub()?.revoke_key(caller.at_least(Role::Admin)?, &id).await?))
}
