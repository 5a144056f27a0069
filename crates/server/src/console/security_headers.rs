//! Security headers: what a page may load, who may frame it, and what it reveals to other sites.

use axum::extract::Request;
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::Next;
use axum::response::Response;

/// Policy of pages: our own files and API; no inline code.
const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                           connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; \
                           frame-ancestors 'none'";

/// Policy of API responses, which are not pages.
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";

/// Policy of a mail: its own origin, no script, nothing loaded; only the console may frame it.
pub const MAIL_POLICY: &str = "sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; \
                               form-action 'none'; base-uri 'none'; frame-ancestors 'self'";

/// Middleware that adds the security headers of pages.
pub async fn pages(request: Request, next: Next) -> Response {
    with_headers(next.run(request).await, PAGE_POLICY)
}

/// Middleware that adds the security headers of API responses; existing ones stay.
pub async fn data(request: Request, next: Next) -> Response {
    let mut answer = with_headers(next.run(request).await, DATA_POLICY);
    answer.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    answer
}

/// Adds the policy, unless the response has one, and the headers of all responses.
fn with_headers(mut answer: Response, policy: &'static str) -> Response {
    let all: [(HeaderName, &'static str); 5] = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ];
    for (name, value) in all {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    answer
}
