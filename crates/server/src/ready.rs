//! Readiness: true only if every lane delivers, or is paused by an operator, and the API can answer.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use postrider_engine::LaneStatus;
use serde::Serialize;

use crate::Api;

/// The source of the lanes' status. Must answer from memory: `/readyz` is polled every few seconds.
pub trait Lanes: Send + Sync {
    /// Returns the status of every lane.
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
    /// Omitted without an API.
    #[serde(skip_serializing_if = "Option::is_none")]
    api: Option<ApiReadiness>,
}

#[derive(Serialize)]
struct ApiReadiness {
    ready: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
}

impl ApiReadiness {
    fn of(api: &Api) -> Self {
        let ready = api.is_open();
        Self { ready, reason: (!ready).then_some("the API waits for its database") }
    }
}

#[derive(Serialize)]
struct LaneReadiness {
    ready: bool,
    #[serde(flatten)]
    status: LaneStatus,
}

impl Readiness {
    fn of(lanes: Vec<LaneStatus>, api: Option<&Api>) -> Self {
        let lanes: Vec<LaneReadiness> = lanes
            .into_iter()
            .map(|status| LaneReadiness { ready: status.health.is_ready(), status })
            .collect();
        let api = api.map(ApiReadiness::of);
        let ready = lanes.iter().all(|lane| lane.ready) && api.as_ref().is_none_or(|api| api.ready);
        Self { ready, lanes, api }
    }
}

/// The sources of readiness.
#[derive(Clone)]
pub(crate) struct Ready {
    pub lanes: Arc<dyn Lanes>,
    pub api: Option<Api>,
}

pub(crate) async fn readyz(State(ready): State<Ready>) -> Response {
    let readiness = Readiness::of(ready.lanes.lanes(), ready.api.as_ref());
    let code = if readiness.ready { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    (code, Json(readiness)).into_response()
}
