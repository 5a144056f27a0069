//! `/check`: what `postrider check` says.

use axum::Json;
use axum::extract::State;
use postrider_hub::access::Role;
use postrider_seams::inspect::{Finding, Level};
use serde::Serialize;
use utoipa::ToSchema;

use super::admit::Caller;
use super::{Api, Problem};

#[derive(Debug, Serialize, ToSchema)]
pub struct Checked {
    lanes: Vec<LaneChecked>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct LaneChecked {
    name: String,
    /// No finding is an error.
    ok: bool,
    findings: Vec<FindingView>,
}

#[derive(Debug, Serialize, ToSchema)]
pub struct FindingView {
    /// `ok`, `warning` or `error`
    level: &'static str,
    text: String,
    /// The statements that would mend it.
    mend: Option<String>,
}

/// What each lane's table and target guarantee, what is lacking, and what would mend it. Changes nothing.
#[utoipa::path(get, path = "/check", tag = "lanes",
    responses((status = 200, description = "What was found", body = Checked)))]
pub async fn get(State(api): State<Api>, caller: Caller) -> Result<Json<Checked>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    // One at a time: each probes the lanes' targets.
    let _turn = api.checking.lock().await;
    let mut lanes = Vec::new();
    for lane in api.lanes.lanes() {
        let findings = api.lanes.check(&lane.lane).await;
        let ok = findings.iter().all(|finding| finding.level != Level::Error);
        lanes.push(LaneChecked { name: lane.lane, ok, findings: findings.into_iter().map(view).collect() });
    }
    Ok(Json(Checked { lanes }))
}

fn view(finding: Finding) -> FindingView {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    FindingView { level, text: finding.text, mend: finding.mend }
}
