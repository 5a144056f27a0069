//! Sign-in with an API key, and sign-out.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use postrider_hub::access::{ClientScope, Session, SignedIn};
use postrider_hub::{Fault, Moment};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;
use utoipa::ToSchema;

use super::{Console, assets, cookie};
use crate::api::{Problem, is_json, parse_json, read_bytes};
use crate::guess_limit::{ClientAddress, client_address};

/// Maximum bytes of a sign-in body, longer than any key.
const MAX_BODY_BYTES: usize = 4 << 10;
/// Time limit of the whole body: unauthenticated clients get no more.
const BODY_TIMEOUT: Duration = Duration::from_secs(3);

/// The signed-in user.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct View {
    role: &'static str,
    /// Clients whose objects the user may see; empty: all.
    client_ids: Vec<String>,
    key_name: String,
    /// Token for the header `x-csrf-token` of every request that changes something.
    csrf: String,
    expires_at: Option<Moment>,
}

/// The key to sign in with.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: String,
}

fn view(session: Session) -> View {
    let client_ids = match session.actor.scope {
        ClientScope::All => Vec::new(),
        ClientScope::Only(clients) => clients,
    };
    View {
        role: session.actor.role.name(),
        client_ids,
        key_name: session.actor.name,
        csrf: session.csrf,
        expires_at: session.expires_at,
    }
}

/// Serves the sign-in page.
pub async fn page() -> Response {
    login_page(StatusCode::OK, "")
}

/// Renders the form, with the reason why the last attempt failed.
fn login_page(status: StatusCode, refusal: &str) -> Response {
    let notice = match refusal {
        "" => String::new(),
        text => format!("<p class=\"notice bad\" role=\"alert\">{text}</p>"),
    };
    let page = assets::text("login.html").replace("<!--refusal-->", &notice);
    let mut answer = (status, Html(page)).into_response();
    answer.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    answer
}

/// Signs in with a key, from JSON or the form, and sets the session cookie.
pub async fn sign_in(State(console): State<Console>, request: Request) -> Response {
    let by_form = !is_json(request.headers());
    let address = client_address(request.extensions());
    let headers = request.headers().clone();
    let entered = match timeout(BODY_TIMEOUT, read_bytes(request, MAX_BODY_BYTES)).await {
        Ok(Ok(body)) => authenticate(&console, &headers, &body.bytes, address, by_form).await,
        Ok(Err(problem)) => Err(problem),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the key came too slowly, or stopped")),
    };
    match entered {
        Ok(signed) => signed_in_response(signed, &headers, by_form),
        Err(problem) if by_form => login_page(problem.status(), refusal(&problem)),
        Err(problem) => problem.into_response(),
    }
}

async fn authenticate(
    console: &Console,
    headers: &HeaderMap,
    body: &Bytes,
    address: ClientAddress,
    by_form: bool,
) -> Result<SignedIn, Problem> {
    if is_from_elsewhere(headers) {
        let why = "signing in from another site is not allowed";
        return Err(Problem::forbidden(why).with_faults(vec![Fault::outside_body("Origin", why)]));
    }
    let key = if by_form { from_form(body) } else { Some(parse_json::<Entry>(body)?.key) };
    let key = key.ok_or_else(|| Problem::invalid("key", "is missing"))?;
    let guess_limit = console.api.guess_limit();
    let _permit = guess_limit.acquire_lookup(address).await;
    let signed = console.api.hub()?.sign_in(key.trim()).await?;
    signed.ok_or_else(|| {
        tracing::warn!(?address, "sign-in with an invalid key");
        let fault = Fault::new("key", "must be a valid API key");
        let refusal =
            Problem::new(StatusCode::UNAUTHORIZED, "invalid or revoked API key").with_faults(vec![fault]);
        guess_limit.count_wrong_key(address, refusal)
    })
}

fn signed_in_response(signed: SignedIn, headers: &HeaderMap, by_form: bool) -> Response {
    let cookie = cookie::value(&signed.token, cookie::is_secure(headers));
    let head = [(header::SET_COOKIE, cookie), (header::CACHE_CONTROL, "no-store".to_owned())];
    if by_form {
        return (head, Redirect::to("/")).into_response();
    }
    (head, Json(view(signed.session))).into_response()
}

/// Returns the message on the form; it never repeats the input.
fn refusal(problem: &Problem) -> &'static str {
    match problem.status() {
        StatusCode::UNAUTHORIZED | StatusCode::UNPROCESSABLE_ENTITY => "Invalid or revoked API key.",
        StatusCode::TOO_MANY_REQUESTS => "Too many invalid keys from this address. Wait a minute.",
        StatusCode::FORBIDDEN => "Signing in from another site is not allowed.",
        StatusCode::REQUEST_TIMEOUT => "The request took too long. Try again.",
        _ => "The database is not available. Try again later.",
    }
}

/// Whether another site sent the request. Browsers send the origin; programs do not.
fn is_from_elsewhere(headers: &HeaderMap) -> bool {
    let from = headers.get("sec-fetch-site").and_then(|value| value.to_str().ok());
    from.is_some_and(|from| !matches!(from, "same-origin" | "none"))
}

/// Reads `key=…` of a form's body. A key has no characters that a form would encode, except blanks around it.
fn from_form(body: &[u8]) -> Option<String> {
    let body = std::str::from_utf8(body).ok()?;
    let key = body.split('&').find_map(|pair| pair.strip_prefix("key="))?;
    Some(key.replace('+', " "))
}

/// Returns the signed-in user.
pub async fn session(State(console): State<Console>, headers: HeaderMap) -> Result<Response, Problem> {
    let token = cookie::session(&headers).ok_or_else(Problem::unauthorized)?;
    let session = console.api.hub()?.session(token).await?.ok_or_else(Problem::unauthorized)?;
    Ok(([(header::CACHE_CONTROL, "no-store")], Json(view(session))).into_response())
}

/// Ends the session; the cookie is deleted even if there was no session.
pub async fn sign_out(State(console): State<Console>, headers: HeaderMap) -> Result<Response, Problem> {
    let gone = (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie::removed())]);
    let Some(token) = cookie::session(&headers) else { return Ok(gone.into_response()) };
    let Some(session) = console.api.hub()?.session(token).await? else { return Ok(gone.into_response()) };
    check_csrf(&session, &headers)?;
    console.api.hub()?.sign_out(token).await?;
    Ok(gone.into_response())
}

/// Checks the CSRF token: a page of ours sent the request, not another site that made the browser send its cookie.
pub(crate) fn check_csrf(session: &Session, headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get("x-csrf-token").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if session.has_csrf_token(given) {
        return Ok(());
    }
    let fault = Fault::outside_body("x-csrf-token", "must be the value from GET /console/session");
    Err(Problem::forbidden("a change with a session needs the header x-csrf-token").with_faults(vec![fault]))
}
