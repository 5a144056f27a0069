//! Routes of `/lanes/{lane}/rows`: lists and shows the rows of a lane's table.

use axum::Json;
use axum::extract::State;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use postrider_contract::Contract;
use postrider_engine::Health;
use postrider_hub::access::Role;
use postrider_hub::{Error, Moment};
use postrider_seams::Content;
use postrider_seams::inspect::{Matching, OperatorAction, Order, Query, RowPosition, Search, SearchBy};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::auth::Caller;
use super::lanes::{LaneDefinition, VerbView, verb_view};
use super::params::{Form, Id, Params, RowId, check};
use super::{Api, Problem};
use crate::console::MAIL_POLICY;
use crate::rows::{self, MessageView, NameValue, RowItem, TimelineEntry};

/// Maximum bytes of a mail that can be downloaded.
const MAX_MAIL_BYTES: u64 = 64 << 20;

/// Query parameters of the list of rows.
#[derive(Debug, Deserialize, utoipa::IntoParams)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub struct RowParams {
    /// Only rows in this state of the lane's contract. Default: all.
    #[param(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    state: Option<String>,
    /// What to search by: `id`, `key`, `recipient`, `group` or `error`. `/lanes/{id}` lists what a lane supports.
    /// Default: no search.
    #[param(value_type = Option<String>)]
    by: Option<SearchBy>,
    /// What to search for. Needs `by`. Default: no search.
    #[param(min_length = 1, max_length = 500, pattern = r"^[^\u0000-\u001f\u007f-\u009f]+$")]
    text: Option<String>,
    /// `exact` or `prefix`. Default: `exact`.
    #[serde(rename = "match")]
    #[param(value_type = Option<String>)]
    matching: Option<Matching>,
    /// `newest` or `oldest` first. Default: `newest`.
    #[param(value_type = Option<String>)]
    order: Option<Order>,
    /// Maximum number of rows. Default: 50.
    #[param(minimum = 1, maximum = 200)]
    limit: Option<u32>,
    /// `nextCursor` of the previous page. Default: the first page.
    #[param(min_length = 1, max_length = 1000, pattern = "^[A-Za-z0-9_-]+$")]
    cursor: Option<String>,
}

/// One page of rows.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RowPage {
    /// The rows of this page.
    items: Vec<RowItem>,
    /// Pass it as `cursor` to get the next page. Null: this is the last page.
    next_cursor: Option<String>,
    /// What the page does not cover. Null: nothing.
    note: Option<String>,
}

/// A row: why it waits, what happened to it, what it contains.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct RowDetail {
    /// Key of the row.
    id: String,
    /// Name of the lane.
    lane: String,
    /// State of the row. Null: its columns hold no state of the contract.
    state: Option<String>,
    /// What the state means: `ready`, `claimed`, `waiting`, `delivered`, `failed` or `ended`.
    role: Option<&'static str>,
    /// Why the row waits. Null: it does not.
    waiting: Option<String>,
    /// Key of the row of the same group that must be delivered first.
    waiting_behind: Option<String>,
    /// Earliest time of the next attempt, if known.
    waiting_until: Option<Moment>,
    /// What an operator can do with the row now.
    verbs: Vec<VerbView>,
    /// What happened to the row, and what happens next.
    timeline: Vec<TimelineEntry>,
    /// What would be sent.
    message: MessageView,
    /// The columns of the row.
    columns: Vec<NameValue>,
}

/// Refuses producers: only callers that operate the lane may read rows, which others wrote.
pub fn check_may_read_rows(caller: &Caller) -> Result<(), Problem> {
    let actor = caller.of_all_clients(Role::Viewer)?;
    if actor.role == Role::Producer {
        return Err(Problem::forbidden(
            "an API key with the role producer cannot see rows of lanes: this needs viewer or operator",
        ));
    }
    Ok(())
}

fn hex(text: &str) -> String {
    let digit = |half: u8| char::from_digit(half.into(), 16).expect("half a byte is a digit");
    text.bytes().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}

fn unhex(text: &str) -> Option<String> {
    let bytes: Option<Vec<u8>> = (0..text.len() / 2)
        .map(|at| text.get(at * 2..at * 2 + 2).and_then(|pair| u8::from_str_radix(pair, 16).ok()))
        .collect();
    String::from_utf8(bytes?).ok().filter(|_| text.len().is_multiple_of(2))
}

/// Decodes the key in a cursor. No database stores a NUL in a key.
fn cursor_key(cursor: &str) -> Option<String> {
    unhex(cursor).filter(|key| !key.contains('\0'))
}

impl RowParams {
    fn query(self, contract: &Contract) -> Result<Query, Problem> {
        check(&[("state", &self.state, Form::Slug(64)), ("text", &self.text, Form::Line(500))])?;
        if let Some(state) = self.state.as_deref().filter(|state| contract.state_named(state).is_none()) {
            return Err(Problem::parameter("state", format!("this lane's contract has no state {state}")));
        }
        let limit = self.limit.unwrap_or(50);
        if !(1..=200).contains(&limit) {
            return Err(Problem::parameter("limit", "must be between 1 and 200"));
        }
        let search = match (self.by, self.text) {
            (Some(by), Some(text)) => Some(Search { by, text, matching: self.matching.unwrap_or_default() }),
            (None, None) => None,
            (Some(_), None) => {
                return Err(Problem::parameter("text", "is missing: set it to the text to search for"));
            }
            (None, Some(_)) => {
                return Err(Problem::parameter("by", "is missing: set it to what to search by"));
            }
        };
        let after = self.cursor.map(|cursor| {
            cursor_key(&cursor).ok_or_else(|| Problem::parameter("cursor", "is not a cursor of this list"))
        });
        let order = self.order.unwrap_or_default();
        Ok(Query { state: self.state, limit, after: after.transpose()?, order, search, brief: true })
    }
}

/// List rows of a lane
///
/// Returns the rows of the lane, optionally filtered by state or searched.
#[utoipa::path(get, path = "/lanes/{id}/rows", tag = "lanes", params(("id" = String, Path, description = "Name of the lane"), RowParams),
    responses((status = 200, description = "A page of rows", body = RowPage)))]
pub async fn list(
    State(api): State<Api>,
    caller: Caller,
    Id(lane): Id,
    Params(params): Params<RowParams>,
) -> Result<Json<RowPage>, Problem> {
    check_may_read_rows(&caller)?;
    let (definition, table) = api.lane(&lane).await?;
    let query = params.query(&definition.contract)?;
    if let Some(search) = &query.search {
        offered(&table.searches(), search)?;
    }
    let page = table.list(&query).await.map_err(Error::from)?;
    let items = page.rows.iter().map(|row| rows::item(&definition.contract, row)).collect();
    Ok(Json(RowPage { items, next_cursor: page.next.as_deref().map(hex), note: page.note }))
}

fn offered(known: &[postrider_seams::inspect::Searchable], search: &Search) -> Result<(), Problem> {
    let found = known.iter().find(|known| known.by == search.by);
    let found = found.ok_or_else(|| {
        Problem::parameter("by", format!("this lane cannot be searched by {}", search.by.name()))
    })?;
    let fits = match search.matching {
        Matching::Exact => found.exact || search.by == SearchBy::Error,
        Matching::Prefix => found.prefix,
    };
    if fits { Ok(()) } else { Err(Problem::parameter("match", "this search does not support prefixes")) }
}

/// Get a row of a lane
///
/// Returns why the row waits, what happened to it, and what would be sent.
#[utoipa::path(get, path = "/lanes/{id}/rows/{row}", tag = "lanes",
    params(("id" = String, Path, description = "Name of the lane"), ("row" = String, Path, description = "Key of the row")),
    responses((status = 200, description = "The row", body = RowDetail)))]
pub async fn get(
    State(api): State<Api>,
    caller: Caller,
    RowId(lane, id): RowId,
) -> Result<Json<RowDetail>, Problem> {
    check_may_read_rows(&caller)?;
    let (definition, table) = api.lane(&lane).await?;
    let row = table.show(&id).await.map_err(Error::from)?.ok_or(Error::NotFound("row"))?;
    let history = table.history(&row.id).await.map_err(Error::from)?;
    let mut standing = table.position(&row).await.map_err(Error::from)?;
    name_pool(&api, &caller, &mut standing).await;
    let composed = api.lanes.compose(&lane, &row.id).await.map_err(Error::from)?;
    let hold = composed.as_ref().and_then(|made| api.lanes.hold(&lane, made.as_ref().ok()?));
    let (contract, stage) = (&*definition.contract, &definition.contract.stages[definition.stage]);
    let health = api.lanes.lanes().into_iter().find(|status| status.lane == lane).map(|status| status.health);
    let health = health.unwrap_or(Health::Stopped);
    let context =
        rows::WaitContext { contract, stage, health: &health, standing: &standing, hold: hold.as_ref() };
    let waiting = rows::waiting(&row, &context);
    let (waiting_behind, waiting_until) =
        waiting.as_ref().map(|waiting| (waiting.behind.clone(), waiting.until)).unwrap_or_default();
    let state = row.state.as_deref().and_then(|state| contract.state_named(state));
    let verbs = OperatorAction::ALL.into_iter().filter(|verb| {
        state.is_some_and(|state| verb.moves(contract, stage).iter().any(|(from, _)| *from == state))
    });
    Ok(Json(RowDetail {
        waiting: waiting.map(|waiting| waiting.text),
        waiting_behind,
        waiting_until,
        role: state.map(|state| rows::role_of(contract, state)),
        verbs: verbs.map(|verb| verb_view(&definition, verb)).collect(),
        timeline: rows::timeline(contract, &row, &history),
        message: rows::message(composed.unwrap_or_else(|| Err("the row no longer exists".to_owned()))),
        columns: rows::columns(contract, &row),
        lane,
        id: row.id,
        state: row.state,
    }))
}

/// Adds the name of a pool, if the hub knows it.
async fn name_pool(api: &Api, caller: &Caller, standing: &mut RowPosition) {
    let (Some(pool), Ok(hub), Ok(actor)) =
        (&mut standing.pool, api.hub(), caller.of_all_clients(Role::Viewer))
    else {
        return;
    };
    if let Ok(known) = hub.pool(actor, &pool.name).await {
        pool.name = known.code;
    }
}

async fn mail(api: &Api, lane: &str, id: &str) -> Result<postrider_seams::Mail, Problem> {
    let known: Option<LaneDefinition> = api.lanes.definition(lane);
    known.ok_or(Error::NotFound("lane"))?;
    let composed = api.lanes.compose(lane, id).await.map_err(Error::from)?.ok_or(Error::NotFound("row"))?;
    let refused = |text: String| Problem::new(StatusCode::CONFLICT, text);
    match composed.map_err(refused)?.content {
        Content::Mail(mail) if mail.size() <= MAX_MAIL_BYTES => {
            mail.loaded().await.map_err(|error| refused(format!("cannot read the file of the mail: {error}")))
        }
        Content::Mail(_) => Err(refused("the mail is too large to be shown".to_owned())),
        _ => Err(Problem::new(StatusCode::CONFLICT, "this row has no mail")),
    }
}

/// Show the mail of a row as HTML
///
/// The page is isolated: it runs no script and loads nothing.
#[utoipa::path(get, path = "/lanes/{id}/rows/{row}/mail.html", tag = "lanes",
    params(("id" = String, Path, description = "Name of the lane"), ("row" = String, Path, description = "Key of the row")),
    responses((status = 200, description = "The mail", body = String, content_type = "text/html")))]
pub async fn mail_html(
    State(api): State<Api>,
    caller: Caller,
    RowId(lane, id): RowId,
) -> Result<Response, Problem> {
    check_may_read_rows(&caller)?;
    let page = rows::html_of(&mail(&api, &lane, &id).await?);
    let head =
        [(header::CONTENT_TYPE, "text/html; charset=utf-8"), (header::CONTENT_SECURITY_POLICY, MAIL_POLICY)];
    Ok((head, page).into_response())
}

/// Download the mail of a row
///
/// Returns the message as it would be sent.
#[utoipa::path(get, path = "/lanes/{id}/rows/{row}/mail.eml", tag = "lanes",
    params(("id" = String, Path, description = "Name of the lane"), ("row" = String, Path, description = "Key of the row")),
    responses((status = 200, description = "The message", body = String, content_type = "message/rfc822")))]
pub async fn mail_eml(
    State(api): State<Api>,
    caller: Caller,
    RowId(lane, id): RowId,
) -> Result<Response, Problem> {
    check_may_read_rows(&caller)?;
    let mail = mail(&api, &lane, &id).await?;
    let name: String = id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    let mut answer = ([(header::CONTENT_TYPE, "message/rfc822")], mail.message).into_response();
    let disposition = HeaderValue::from_str(&format!("attachment; filename=\"{name}.eml\""));
    answer.headers_mut().insert(header::CONTENT_DISPOSITION, disposition.expect("letters and digits"));
    Ok(answer)
}
