//! Routes of `/audit-log`.

use axum::Json;
use axum::extract::State;
use postrider_hub::access::Role;
use postrider_hub::audit::AuditEntry;
use postrider_hub::page::{Page, PageQuery};
use serde::Deserialize;

use super::auth::Caller;
use super::params::{Form, Params, check};
use super::{Api, Problem};

/// Query parameters of the audit log.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct AuditParams {
    /// Only changes of this kind of thing: `dispatchJob`, `subscription`, `serviceAccount`, `pool`, `schema`, `apiKey`,
    /// `event`, `lane` or `session`. Default: all.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    entity: Option<String>,
    /// Only changes of the thing with this id. Default: all.
    #[param(min_length = 1, max_length = 255, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    entity_id: Option<String>,
    /// Maximum number of entries. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page. Default: the first page.
    #[param(min_length = 1, max_length = 500, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// List the audit log
///
/// Returns who changed what, newest first.
#[utoipa::path(get, path = "/audit-log", tag = "audit log", params(AuditParams),
    responses((status = 200, description = "A page of the log", body = Page<AuditEntry>)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Params(params): Params<AuditParams>,
) -> Result<Json<Page<AuditEntry>>, Problem> {
    let actor = caller.at_least(Role::Admin)?;
    check(&[("entity", &params.entity, Form::Slug(64)), ("entityId", &params.entity_id, Form::Line(255))])?;
    let page = PageQuery { limit: params.limit, cursor: params.cursor };
    let (entity, id) = (params.entity.as_deref(), params.entity_id.as_deref());
    Ok(Json(api.hub()?.audit(actor, entity, id, &page).await?))
}
