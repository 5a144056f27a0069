//! The listener: bound before anything starts, so that a port in use fails immediately. It serves HTTP/1 and, to
//! clients that begin with it, HTTP/2. Limits connections in number and time.

mod accept;
mod connections;
mod http2;
mod request_body;
mod version;
mod write_timeout;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::request::Parts;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use tokio::net::TcpListener;

use self::connections::Connections;
use crate::MetricsRecorder;
use crate::api::{Api, Problem, refuse_method, refuse_unknown};
use crate::ready::{Lanes, Ready, readyz};

pub use self::connections::ConnectionLimits;

/// Media type of the Prometheus text format, with its version.
const PROMETHEUS_TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// The reason why the address could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    #[error(
        "address {0} is in use, maybe by another `postrider run`: choose another address with --listen, or port 0 \
         for any free port"
    )]
    AddressInUse(SocketAddr),
    #[error("cannot listen on {address}: {source}")]
    Other {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
}

/// A bound address that does not answer yet.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddr,
    stalled_after: Duration,
    limits: ConnectionLimits,
}

impl Listener {
    /// Binds the address.
    pub async fn bind(address: SocketAddr) -> Result<Self, BindError> {
        let refused = |source: io::Error| match source.kind() {
            io::ErrorKind::AddrInUse => BindError::AddressInUse(address),
            _ => BindError::Other { address, source },
        };
        let socket = TcpListener::bind(address).await.map_err(refused)?;
        let address = socket.local_addr().map_err(refused)?;
        Ok(Self { socket, address, stalled_after: STALLED_AFTER, limits: ConnectionLimits::default() })
    }

    /// Sets how long a lane may be stalled before `/healthz` fails; zero: never.
    #[must_use]
    pub fn stalled_after(self, stalled_after: Duration) -> Self {
        Self { stalled_after, ..self }
    }

    /// Sets the limits of open connections.
    #[must_use]
    pub fn with_limits(self, limits: ConnectionLimits) -> Self {
        Self { limits, ..self }
    }

    /// Returns the bound address: with port 0 the port that the system chose.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until `shutdown` completes, then finishes those in flight.
    pub async fn serve(
        self,
        lanes: Arc<dyn Lanes>,
        recorder: MetricsRecorder,
        api: Option<Api>,
        metrics: MetricsAccess,
        shutdown: impl Future<Output = ()> + Send + 'static,
    ) {
        let liveness = Liveness { lanes: Arc::clone(&lanes), stalled_after: self.stalled_after };
        let routes = routes(liveness, lanes, recorder, api, metrics);
        accept::serve(self.socket, routes, Connections::new(self.limits), shutdown).await;
    }
}

/// The clients that may read the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MetricsAccess {
    #[default]
    Open,
    /// Clients with an API key.
    Key,
}

fn routes(
    liveness: Liveness,
    lanes: Arc<dyn Lanes>,
    recorder: MetricsRecorder,
    api: Option<Api>,
    metrics: MetricsAccess,
) -> Router {
    let health = Router::new().route("/healthz", get(healthz)).with_state(liveness);
    let readiness = Router::new().route("/readyz", get(readyz)).with_state(Ready { lanes, api: api.clone() });
    let key_check = api.clone().filter(|_| metrics == MetricsAccess::Key);
    let open = metrics == MetricsAccess::Open;
    let scrape = Router::new().route("/metrics", get(metrics_page)).with_state(MetricsState {
        recorder,
        key_check,
        open,
    });
    let api = api.map(Api::into_routes).unwrap_or_default();
    Router::new()
        .merge(health)
        .merge(readiness)
        .merge(scrape)
        .merge(api)
        .fallback(refuse_unknown)
        .method_not_allowed_fallback(refuse_method)
}

#[derive(Clone)]
struct MetricsState {
    recorder: MetricsRecorder,
    key_check: Option<Api>,
    open: bool,
}

/// Default time that a lane may be stalled before a restart is worthwhile.
const STALLED_AFTER: Duration = Duration::from_mins(5);

#[derive(Clone)]
struct Liveness {
    lanes: Arc<dyn Lanes>,
    stalled_after: Duration,
}

/// Answers 200 if the runtime works and no lane has been stalled for so long that only a restart may help.
async fn healthz(State(liveness): State<Liveness>) -> Response {
    let limit = liveness.stalled_after;
    let lanes = if limit.is_zero() { Vec::new() } else { liveness.lanes.lanes() };
    match lanes.into_iter().find(|lane| lane.stuck_for.is_some_and(|stuck| stuck >= limit)) {
        None => "ok\n".into_response(),
        Some(lane) => {
            let text = format!(
                "lane {} has made no progress for over {} s; see /readyz\n",
                lane.lane,
                limit.as_secs()
            );
            (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
        }
    }
}

async fn metrics_page(State(state): State<MetricsState>, request: Parts) -> Response {
    let allowed = match &state.key_check {
        Some(api) => api.check_key(&request).await,
        None if state.open => Ok(()),
        None => Err(Problem::unauthorized()),
    };
    match allowed {
        Ok(()) => ([(header::CONTENT_TYPE, PROMETHEUS_TEXT)], state.recorder.render()).into_response(),
        Err(problem) => problem.into_response(),
    }
}

#[cfg(test)]
mod tests;
