//! The console: pages that use the API as anybody may, and the sessions that browsers use it with.
//!
//! Owns: `/`, the pages' files, signing in and out, and the headers that keep pages apart. Must not: know a lane or a row;
//! the pages ask `/api/v1`. Invariant: no page has a script or a style of its own text, and nothing comes from elsewhere.

mod assets;
pub(crate) mod cookie;
mod guard;
mod sign;

use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};

use crate::api::Api;

pub(crate) use guard::{MAIL_POLICY, data as guard_data};
pub(crate) use sign::session_is_meant;

/// What the console's own routes work with.
#[derive(Clone)]
struct Console {
    api: Api,
}

pub(crate) fn routes(api: Api) -> Router {
    let console = Console { api };
    let pages = Router::new()
        .route("/", get(index))
        .route("/console/login", get(sign::page).post(sign::enter))
        .route("/console/logout", post(sign::leave))
        .route("/console/session", get(sign::session))
        .route("/console/{*file}", get(assets::file))
        .with_state(console);
    pages.layer(middleware::from_fn(guard::pages))
}

/// The one page, for who may have a session; the API tells whether it is one.
async fn index(headers: HeaderMap) -> Response {
    if cookie::session(&headers).is_none() {
        return Redirect::to("/console/login").into_response();
    }
    assets::answer("index.html", &headers)
}
