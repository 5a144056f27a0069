//! Routes `/lanes/{lane}/requeue`, `/cancel` and `/release`: change the state of rows on an operator's request.

use std::time::Duration;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use postrider_hub::access::Role;
use postrider_hub::audit::Change;
use postrider_hub::{Error, Moment};
use postrider_seams::Inspect;
use postrider_seams::inspect::{COUNT_LIMIT, OperatorAction, SelectedRows};
use postrider_seams::store;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::{Caller, GlobalOperatorCaller};
use super::body::Body;
use super::lanes::LaneDefinition;
use super::params::Id;
use super::{Api, Problem};

/// Maximum rows of one statement.
const CHUNK: u32 = 500;

/// The rows to change: either `ids`, or all rows in a `state`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RowSelection {
    /// Keys of the rows, at most 1000; not together with `state` or `since`. Default: none.
    #[serde(default)]
    #[schema(max_items = 1000, nullable = false)]
    ids: Option<Vec<RowKey>>,
    /// A state of the lane's contract: all rows in it, up to 10,000 per request. Default: none.
    #[serde(default)]
    #[schema(min_length = 1, max_length = 64, nullable = false)]
    state: Option<String>,
    /// With `state`: only rows that changed after this time. Default: all.
    #[serde(default)]
    #[schema(nullable = false)]
    since: Option<Moment>,
    /// Whether to only count the rows and change nothing. Default: false.
    #[serde(default)]
    preview: bool,
}

/// Key of a row.
#[derive(Debug, Deserialize, ToSchema)]
#[schema(min_length = 1, max_length = 255)]
pub struct RowKey(String);

/// Result of a change of rows.
#[derive(Debug, Serialize, ToSchema)]
pub struct MovedRows {
    /// Rows that were selected and are in a state that allows the change, counted up to 10,000.
    matched: u64,
    /// Whether more rows match than were counted or changed. Repeat the request to change them.
    more: bool,
    /// Number of rows that were changed.
    moved: u64,
}

impl RowSelection {
    fn which(&self, definition: &LaneDefinition, action: OperatorAction) -> Result<SelectedRows, Problem> {
        match (&self.ids, &self.state) {
            (Some(ids), None) if self.since.is_none() => {
                if ids.len() > 1000 {
                    return Err(Problem::invalid("ids", "must not have more than 1000 rows"));
                }
                if ids.iter().any(|id| !(1..=255).contains(&id.0.chars().count())) {
                    return Err(Problem::invalid("ids", "must each have 1 to 255 characters"));
                }
                Ok(SelectedRows::Ids(ids.iter().map(|id| id.0.clone()).collect()))
            }
            (None, Some(state)) => {
                let named = definition.contract.state_named(state);
                let named = named
                    .ok_or_else(|| Problem::invalid("state", "is not a state of this lane's contract"))?;
                let stage = &definition.contract.stages[definition.stage];
                if !action.moves(&definition.contract, stage).iter().any(|(from, _)| *from == named) {
                    return Err(Problem::invalid(
                        "state",
                        format!("{} is not possible from {state}", action.name()),
                    ));
                }
                let since = self.since.map(|since| Duration::from_micros(since.micros_until(Moment::now())));
                Ok(SelectedRows::State { state: state.clone(), since, limit: CHUNK })
            }
            (Some(_), _) => Err(Problem::invalid("ids", "cannot be combined with `state` or `since`")),
            (None, None) => Err(Problem::invalid("ids", "or `state` is required, to select rows")),
        }
    }
}

/// Requeue rows of a lane
///
/// The rows are delivered again, with all their attempts.
#[utoipa::path(post, path = "/lanes/{id}/requeue", tag = "lanes", params(("id" = String, Path, description = "Name of the lane")),
    request_body = RowSelection, responses((status = 200, description = "The number of rows changed", body = MovedRows)))]
pub async fn requeue(
    state: State<Api>,
    GlobalOperatorCaller(caller): GlobalOperatorCaller,
    id: Id,
    body: Body<RowSelection>,
) -> Result<Json<MovedRows>, Problem> {
    operate(state, caller, id, body, OperatorAction::Requeue).await
}

/// Cancel rows of a lane
///
/// The rows are not delivered.
#[utoipa::path(post, path = "/lanes/{id}/cancel", tag = "lanes", params(("id" = String, Path, description = "Name of the lane")),
    request_body = RowSelection, responses((status = 200, description = "The number of rows changed", body = MovedRows)))]
pub async fn cancel(
    state: State<Api>,
    GlobalOperatorCaller(caller): GlobalOperatorCaller,
    id: Id,
    body: Body<RowSelection>,
) -> Result<Json<MovedRows>, Problem> {
    operate(state, caller, id, body, OperatorAction::Cancel).await
}

/// Release claimed rows of a lane
///
/// Hands the rows back before their lease ends, without using an attempt. A worker that still holds a row cannot
/// write its result, but may have delivered it.
#[utoipa::path(post, path = "/lanes/{id}/release", tag = "lanes", params(("id" = String, Path, description = "Name of the lane")),
    request_body = RowSelection, responses((status = 200, description = "The number of rows changed", body = MovedRows)))]
pub async fn release(
    state: State<Api>,
    GlobalOperatorCaller(caller): GlobalOperatorCaller,
    id: Id,
    body: Body<RowSelection>,
) -> Result<Json<MovedRows>, Problem> {
    operate(state, caller, id, body, OperatorAction::Release).await
}

async fn operate(
    State(api): State<Api>,
    caller: Caller,
    Id(lane): Id,
    Body(selection): Body<RowSelection>,
    action: OperatorAction,
) -> Result<Json<MovedRows>, Problem> {
    let actor = caller.of_all_clients(Role::Operator)?;
    let (definition, table) = api.lane(&lane).await?;
    if action.moves(&definition.contract, &definition.contract.stages[definition.stage]).is_empty() {
        let text = format!("contract {} has no way to {} a row", definition.contract.name, action.name());
        return Err(Problem::new(StatusCode::CONFLICT, text));
    }
    let which = selection.which(&definition, action)?;
    let counted = table.preview(action, &which).await.map_err(Error::from)?;
    if selection.preview {
        return Ok(Json(MovedRows { matched: counted.rows, more: counted.more, moved: 0 }));
    }
    let moved = all_moved(&*table, action, &which).await.map_err(Error::from)?;
    if moved > 0 && action != OperatorAction::Cancel {
        api.lanes.publish_ready_rows(&lane).await;
    }
    let change = Change::new(action.name(), "lane", &lane).detail("rows", moved);
    let change = match &which {
        SelectedRows::Ids(ids) => change.detail("ids", ids.clone()),
        SelectedRows::State { state, .. } => change.detail("state", state.clone()),
    };
    api.hub()?.write_audit_entry(actor, change).await?;
    Ok(Json(MovedRows { matched: counted.rows, more: counted.more && moved >= COUNT_LIMIT, moved }))
}

/// Changes all selected rows in chunks, so that no statement holds many locks for long.
async fn all_moved(
    table: &dyn Inspect,
    action: OperatorAction,
    which: &SelectedRows,
) -> Result<u64, store::Error> {
    let mut total = 0;
    loop {
        let moved = match action {
            OperatorAction::Requeue => table.requeue(which).await?,
            OperatorAction::Cancel => table.cancel(which).await?,
            OperatorAction::Release => table.release(which).await?,
        };
        total += moved;
        if matches!(which, SelectedRows::Ids(_)) || moved < u64::from(CHUNK) || total >= COUNT_LIMIT {
            return Ok(total);
        }
    }
}
