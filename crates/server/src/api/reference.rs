//! The API reference page and the OpenAPI document: static, so they need no key. They load nothing from other hosts.

use std::sync::LazyLock;

use axum::Router;
use axum::http::{HeaderName, header};
use axum::response::IntoResponse;
use axum::routing::get;

const PAGE: &str = include_str!("reference.html");

/// Content security policy: only the page's own scripts and styles, nothing from other hosts.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

static DOCUMENT: LazyLock<String> =
    LazyLock::new(|| super::document().to_pretty_json().expect("a document of our own is JSON"));

/// Returns the routes of the page and the document.
pub fn routes() -> Router {
    Router::new().route("/api/reference", get(page)).route("/api/openapi.json", get(document))
}

async fn page() -> impl IntoResponse {
    let policy = HeaderName::from_static("content-security-policy");
    ([(header::CONTENT_TYPE, "text/html; charset=utf-8"), (policy, POLICY)], PAGE)
}

async fn document() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}
