//! Route `/check`: the findings of `postrider check`.

use axum::Json;
use axum::extract::State;
use postrider_hub::access::Role;
use postrider_seams::inspect::{Finding, Level};
use serde::Serialize;
use utoipa::ToSchema;

use super::auth::Caller;
use super::{Api, Problem};

/// Result of a check of all lanes.
#[derive(Debug, Serialize, ToSchema)]
pub struct CheckResult {
    /// Result for each lane.
    lanes: Vec<LaneCheck>,
}

/// Result of a check of a lane.
#[derive(Debug, Serialize, ToSchema)]
pub struct LaneCheck {
    /// Name of the lane.
    name: String,
    /// Whether there is no error among the findings.
    ok: bool,
    /// What was found.
    findings: Vec<FindingView>,
}

/// A finding of a check.
#[derive(Debug, Serialize, ToSchema)]
pub struct FindingView {
    /// `ok`, `warning` or `error`.
    level: &'static str,
    /// What was found.
    text: String,
    /// SQL that fixes it. Null: nothing to fix, or not with SQL.
    fix: Option<String>,
    /// Deprecated: the same as `fix`.
    #[schema(deprecated)]
    mend: Option<String>,
}

/// Check all lanes
///
/// Reports what the table and the target of each lane guarantee, what is missing, and the SQL to fix it. Changes
/// nothing.
#[utoipa::path(get, path = "/check", tag = "lanes",
    responses((status = 200, description = "The findings of each lane", body = CheckResult)))]
pub async fn get(State(api): State<Api>, caller: Caller) -> Result<Json<CheckResult>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    // One check at a time: each probes the lanes' targets.
    let _turn = api.checking.lock().await;
    let mut lanes = Vec::new();
    for lane in api.lanes.lanes() {
        let findings = api.lanes.check(&lane.lane).await;
        let ok = findings.iter().all(|finding| finding.level != Level::Error);
        lanes.push(LaneCheck { name: lane.lane, ok, findings: findings.into_iter().map(view).collect() });
    }
    Ok(Json(CheckResult { lanes }))
}

fn view(finding: Finding) -> FindingView {
    let level = match finding.level {
        Level::Ok => "ok",
        Level::Warning => "warning",
        Level::Error => "error",
    };
    FindingView { level, text: finding.text, fix: finding.fix.clone(), mend: finding.fix }
}
