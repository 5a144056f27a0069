//! `/schemas`

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::schema::PayloadSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::admit::{ByOperatorOfAll, Caller};
use super::body::Body;
use super::params::Id;
use super::{Api, Problem};

/// Every schema.
#[derive(Debug, Serialize, ToSchema)]
pub struct SchemaList {
    items: Vec<PayloadSchema>,
}

#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSchema {
    /// A JSON Schema.
    #[schema(value_type = Object)]
    schema: serde_json::Value,
}

/// Every schema.
#[utoipa::path(get, path = "/schemas", tag = "schemas",
    responses((status = 200, description = "All schemas", body = SchemaList)))]
pub async fn list(State(api): State<Api>, caller: Caller) -> Result<Json<SchemaList>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(SchemaList { items: api.hub()?.schemas().await? }))
}

/// One schema.
#[utoipa::path(get, path = "/schemas/{id}", tag = "schemas", params(("id" = String, Path)),
    responses((status = 200, description = "The schema", body = PayloadSchema)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<PayloadSchema>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(api.hub()?.schema(&id).await?))
}

/// Registers a schema: payloads of jobs that name it are held to it from now on.
#[utoipa::path(put, path = "/schemas/{id}", tag = "schemas", params(("id" = String, Path)), request_body = NewSchema,
    responses((status = 200, description = "The schema", body = PayloadSchema)))]
pub async fn put(
    State(api): State<Api>,
    ByOperatorOfAll(caller): ByOperatorOfAll,
    Id(id): Id,
    Body(new): Body<NewSchema>,
) -> Result<Json<PayloadSchema>, Problem> {
    Ok(Json(api.hub()?.put_schema(caller.of_all_clients(Role::Operator)?, &id, &new.schema).await?))
}

/// Takes a schema away: payloads are held to it no longer.
#[utoipa::path(delete, path = "/schemas/{id}", tag = "schemas", params(("id" = String, Path)),
    responses((status = 204, description = "It is gone")))]
pub async fn delete(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    api.hub()?.delete_schema(caller.of_all_clients(Role::Operator)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
