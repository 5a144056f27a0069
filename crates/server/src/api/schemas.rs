//! Routes of `/schemas`.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::schema::PayloadSchema;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::{Caller, GlobalOperatorCaller};
use super::body::Body;
use super::params::Id;
use super::{Api, Problem};

/// Payload schemas.
#[derive(Debug, Serialize, ToSchema)]
pub struct SchemaList {
    /// The schemas.
    items: Vec<PayloadSchema>,
}

/// A payload schema to register.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct NewSchema {
    /// The JSON Schema; draft 2020-12 unless `$schema` names another one.
    #[schema(value_type = Object)]
    schema: serde_json::Value,
}

/// List payload schemas
///
/// Returns all schemas by id, at most 1000.
#[utoipa::path(get, path = "/schemas", tag = "schemas",
    responses((status = 200, description = "All schemas", body = SchemaList)))]
pub async fn list(State(api): State<Api>, caller: Caller) -> Result<Json<SchemaList>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(SchemaList { items: api.hub()?.schemas().await? }))
}

/// Get a payload schema
///
/// Returns the JSON Schema that is registered with this id.
#[utoipa::path(get, path = "/schemas/{id}", tag = "schemas", params(("id" = String, Path, description = "Id of the schema")),
    responses((status = 200, description = "The schema", body = PayloadSchema)))]
pub async fn get(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<Json<PayloadSchema>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(api.hub()?.schema(&id).await?))
}

/// Register a payload schema
///
/// Payloads of new jobs with this `schemaId` must match it.
#[utoipa::path(put, path = "/schemas/{id}", tag = "schemas", params(("id" = String, Path, description = "Id of the schema")), request_body = NewSchema,
    responses((status = 200, description = "The schema", body = PayloadSchema)))]
pub async fn put(
    State(api): State<Api>,
    GlobalOperatorCaller(caller): GlobalOperatorCaller,
    Id(id): Id,
    Body(new): Body<NewSchema>,
) -> Result<Json<PayloadSchema>, Problem> {
    Ok(Json(api.hub()?.put_schema(caller.of_all_clients(Role::Operator)?, &id, &new.schema).await?))
}

/// Delete a payload schema
///
/// Payloads are no longer checked against the schema.
#[utoipa::path(delete, path = "/schemas/{id}", tag = "schemas", params(("id" = String, Path, description = "Id of the schema")),
    responses((status = 204, description = "Deleted")))]
pub async fn delete(State(api): State<Api>, caller: Caller, Id(id): Id) -> Result<StatusCode, Problem> {
    api.hub()?.delete_schema(caller.of_all_clients(Role::Operator)?, &id).await?;
    Ok(StatusCode::NO_CONTENT)
}
