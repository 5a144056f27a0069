//! The HTTP API under `/api/v1`: the operations of the hub and of lanes, as JSON.
//!
//! Owns: routes, the roles that they require, and the format of errors (RFC 9457). Must not: know a table or a driver.
//! Invariant: no route answers without a key, and an object that a caller may not see gets the same response, byte for
//! byte, as one that does not exist.

mod accounts;
mod audit;
mod auth;
mod batch;
mod body;
mod body_budget;
mod body_mistakes;
mod check;
mod cloudevents;
mod emails;
mod events;
mod examples;
mod idempotency;
mod jobs;
mod json_checks;
mod keys;
mod lanes;
mod large_bodies;
mod moves;
mod no_query;
mod openapi;
mod overview;
mod params;
mod pools;
mod problem;
mod raw_entries;
mod reference;
mod rows;
mod schemas;
mod strict_json;
mod subscriptions;

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::middleware;
use postrider_hub::{Error, Hub};
use postrider_seams::Inspect;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

pub use emails::{AcceptedEmail, EmailIntake, EmailKind, IntakeLane, Refusal};
pub(crate) use lanes::health_text;
pub use lanes::{LaneControl, LaneDefinition};
pub use openapi::document;
pub use problem::Problem;

use self::auth::{RecentCallers, authenticate};
pub(crate) use self::auth::{refuse_method, refuse_unknown};
use self::body_budget::Budget;
use self::large_bodies::LargeBodies;
use crate::console::{self, data_headers};
use crate::guess_limit::{GuessLimit, client_address};
use crate::overview::Sampler;

pub(crate) use body::{is_json, parse_json, read_bytes};

/// The shared state of the API. The hub is set once its database is open.
#[derive(Clone)]
pub struct Api {
    hub: Arc<OnceLock<Arc<Hub>>>,
    lanes: Arc<dyn LaneControl>,
    email_intake: Option<Arc<dyn EmailIntake>>,
    sampler: Arc<Sampler>,
    checking: Arc<tokio::sync::Mutex<()>>,
    recent_callers: Arc<RecentCallers>,
    guess_limit: Arc<GuessLimit>,
    limits: Limits,
    budget: Budget,
    large_bodies: LargeBodies,
}

/// Size limits of requests.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Maximum bytes of a body.
    pub body: usize,
    /// Maximum bytes of a batch's body.
    pub batch_body: usize,
    /// Maximum bytes of all bodies together.
    pub bodies: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { body: 2 << 20, batch_body: 32 << 20, bodies: 64 << 20 }
    }
}

impl Api {
    /// Creates the API without a hub: every request gets 503 until [`Api::open`].
    pub fn new(lanes: Arc<dyn LaneControl>, limits: Limits) -> Self {
        let sampler = Arc::new(Sampler::new(Arc::clone(&lanes)));
        Self {
            hub: Arc::default(),
            lanes,
            email_intake: None,
            sampler,
            checking: Arc::default(),
            recent_callers: Arc::default(),
            guess_limit: Arc::default(),
            limits,
            budget: Budget::new(limits.bodies.max(limits.batch_body).max(limits.body)),
            large_bodies: LargeBodies::new(limits.batch_body.max(limits.body)),
        }
    }

    /// Adds the e-mail intake, so that e-mails are accepted; `None`: they are not.
    #[must_use]
    pub fn with_email_intake(self, email_intake: Option<Arc<dyn EmailIntake>>) -> Self {
        Self { email_intake, ..self }
    }

    /// Sets the hub after its database was opened; from now on the API answers.
    pub fn open(&self, hub: Arc<Hub>) {
        let _ = self.hub.set(hub);
    }

    pub(crate) fn hub(&self) -> Result<&Arc<Hub>, Problem> {
        self.hub.get().ok_or_else(Problem::unavailable)
    }

    /// Returns a lane and its table.
    async fn lane(&self, name: &str) -> Result<(LaneDefinition, Arc<dyn Inspect>), Problem> {
        const NOT_FOUND: Error = Error::NotFound("lane");
        let definition = self.lanes.definition(name).ok_or(NOT_FOUND)?;
        Ok((definition, self.lanes.table(name).await.map_err(Error::from)?.ok_or(NOT_FOUND)?))
    }

    pub(crate) fn guess_limit(&self) -> &GuessLimit {
        &self.guess_limit
    }

    /// Checks that this request has a valid key.
    pub(crate) async fn check_key(&self, request: &axum::http::request::Parts) -> Result<(), Problem> {
        self.actor(&request.method, &request.headers, client_address(&request.extensions)).await.map(|_| ())
    }

    /// Whether the hub's database is open.
    pub(crate) fn is_open(&self) -> bool {
        self.hub.get().is_some()
    }

    /// Returns the router with every route, including the console's.
    /// Must be called inside a Tokio runtime: it starts sampling the lanes.
    pub fn into_routes(self) -> Router {
        self.sampler.start();
        let (routes, _) = described().split_for_parts();
        let closed = routes.fallback(refuse_unknown).method_not_allowed_fallback(refuse_method);
        let closed =
            closed.layer(middleware::from_fn_with_state(self.clone(), authenticate)).with_state(self.clone());
        let api = Router::new().nest("/api/v1", closed).merge(reference::routes());
        api.layer(middleware::from_fn(data_headers)).merge(console::routes(self))
    }
}

/// Returns the routes with their descriptions, from which the OpenAPI document is generated.
fn described() -> OpenApiRouter<Api> {
    OpenApiRouter::new()
        .routes(routes!(jobs::list, jobs::create))
        .routes(routes!(batch::create_jobs))
        .routes(routes!(jobs::retry_many))
        .routes(routes!(jobs::get))
        .routes(routes!(jobs::retry))
        .routes(routes!(jobs::cancel))
        .routes(routes!(jobs::complete))
        .routes(routes!(events::list, events::create))
        .routes(routes!(batch::create_events))
        .routes(routes!(events::get))
        .routes(routes!(events::replay))
        .routes(routes!(subscriptions::list, subscriptions::create))
        .routes(routes!(subscriptions::get, subscriptions::put, subscriptions::delete))
        .routes(routes!(subscriptions::pause))
        .routes(routes!(subscriptions::resume))
        .routes(routes!(subscriptions::test))
        .routes(routes!(pools::list, pools::create))
        .routes(routes!(pools::get, pools::put, pools::delete))
        .routes(routes!(pools::pause))
        .routes(routes!(pools::resume))
        .routes(routes!(accounts::list, accounts::create))
        .routes(routes!(accounts::get, accounts::put))
        .routes(routes!(accounts::regenerate))
        .routes(routes!(accounts::activate))
        .routes(routes!(accounts::deactivate))
        .routes(routes!(schemas::list))
        .routes(routes!(schemas::get, schemas::put, schemas::delete))
        .routes(routes!(keys::list, keys::create))
        .routes(routes!(keys::revoke))
        .routes(routes!(audit::list))
        .routes(routes!(emails::create))
        .routes(routes!(overview::get))
        .routes(routes!(overview::stream))
        .routes(routes!(lanes::list))
        .routes(routes!(lanes::get))
        .routes(routes!(lanes::pause))
        .routes(routes!(lanes::resume))
        .routes(routes!(rows::list))
        .routes(routes!(rows::get))
        .routes(routes!(rows::mail_html))
        .routes(routes!(rows::mail_eml))
        .routes(routes!(moves::requeue))
        .routes(routes!(moves::cancel))
        .routes(routes!(moves::release))
        .routes(routes!(check::get))
}
