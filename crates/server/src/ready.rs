//! Readiness: true only when every lane is moving, or stands still because an operator said so.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use postrider_engine::LaneStatus;
use serde::Serialize;

/// Where the lanes' own words come from. Must answer from memory: `/readyz` is asked every few seconds.
pub trait Lanes: Send + Sync {
    fn lanes(&self) -> Vec<LaneStatus>;
}

impl<F: Fn() -> Vec<LaneStatus> + Send + Sync> Lanes for F {
    fn lanes(&self) -> Vec<LaneStatus> {
        self()
    }
}

#[derive(Serialize)]
struct Readiness {
    ready: bool,
    lanes: Vec<LaneReadiness>,
}

#[derive(Serialize)]
struct LaneReadiness {
    ready: bool,
    #[serde(flatten)]
    status: LaneStatus,
}

impl Readiness {
    fn of(lanes: Vec<LaneStatus>) -> Self {
        let lanes: Vec<LaneReadiness> = lanes
            .into_iter()
            .map(|status| LaneReadiness { ready: status.health.is_ready(), status })
            .collect();
        Self { ready: lanes.iter().all(|lane| lane.ready), lanes }
    }
}

pub(crate) async fn readyz(State(lanes): State<Arc<dyn Lanes>>) -> Response {
    let readiness = Readiness::of(lanes.lanes());
    let code = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(readiness)).into_response()
}
