//! `/api-keys`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use postrider_hub::access::{ApiKey, NewKey, REQUESTED, Role, ShownKey};
use serde::Serialize;
use utoipa::ToSchema;

use super::admit::{ByAdmin, Caller};
use super::once::{Keyed, Once, once};
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
    params(("Idempotency-Key" = Option<String>, Header, description = "The same request again, within a day, answers with the key that the first made, and does not show what it opens with.",
        min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")),
    responses((status = 201, description = "The key", body = ShownKey),
        (status = 200, description = "The same request was made before: its key, without what it opens with", body = ApiKey)))]
pub async fn create(
    State(api): State<Api>,
    ByAdmin(caller): ByAdmin,
    Keyed { new, request }: Keyed<NewKey>,
) -> Result<Response, Problem> {
    let (hub, actor) = (api.hub()?, caller.at_least(Role::Admin)?);
    let make = hub.create_key(actor, &new, request.as_ref());
    Ok(match once((hub, actor), REQUESTED, request.clone(), make, |made| &made.details.id).await? {
        Once::Made(made) => (StatusCode::CREATED, Json(made)).into_response(),
        Once::Before(id) => Json(hub.key(actor, &id).await?).into_response(),
    })
}

/// From now on it opens nothing.
#[utoipa::path(post, path = "/api-keys/{id}/revoke", tag = "api keys", params(("id" = String, Path)),
    responses((status = 200, description = "The key", body = ApiKey)))]
pub async fn revoke(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<ApiKey>, Problem> {
    Ok(Json(api.hub()?.revoke_key(caller.at_least(Role::Admin)?, &id).await?))
}
