//! The console: static pages that use the public API, and the sessions of browsers.
//!
//! Owns: `/`, the pages' files, sign-in and sign-out, and the security headers. Must not: know a lane or a row; the
//! pages query `/api/v1`. Invariant: no page has an inline script or style, and nothing is loaded from other hosts.

mod assets;
pub(crate) mod cookie;
mod login;
mod security_headers;

use axum::http::HeaderMap;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use axum::{Router, middleware};

use crate::api::Api;

pub(crate) use login::check_csrf;
pub(crate) use security_headers::{MAIL_POLICY, data as data_headers};

/// The state of the console's own routes.
#[derive(Clone)]
struct Console {
    api: Api,
}

pub(crate) fn routes(api: Api) -> Router {
    let console = Console { api };
    let pages = Router::new()
        .route("/", get(index))
        .route("/console/login", get(login::page).post(login::sign_in))
        .route("/console/logout", post(login::sign_out))
        .route("/console/session", get(login::session))
        .route("/console/{*file}", get(assets::file))
        .with_state(console);
    pages.layer(middleware::from_fn(security_headers::pages))
}

/// Serves the page if there is a session cookie; the API checks whether it is valid.
async fn index(headers: HeaderMap) -> Response {
    if cookie::session(&headers).is_none() {
        return Redirect::to("/console/login").into_response();
    }
    assets::answer("index.html", &headers)
}
