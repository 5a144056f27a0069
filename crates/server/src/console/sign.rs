//! Sign-in with an API key, and sign-out.

use std::time::Duration;

use axum::Json;
use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse as _, Redirect, Response};
use postrider_hub::access::{Scope, Session, SignedIn};
use postrider_hub::{Fault, Moment};
use serde::{Deserialize, Serialize};
use tokio::time::timeout;

use super::{Console, assets, cookie};
use crate::api::{Problem, is_json, parsed, taken};
use crate::guesses::{Who, who};

/// Maximum bytes of a sign-in body, longer than any key.
const LARGEST: usize = 4 << 10;
/// Time limit of the whole body: unauthenticated clients get no more.
const KEY_WITHIN: Duration = Duration::from_secs(3);

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

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    key: String,
}

fn view(session: Session) -> View {
    let client_ids = match session.actor.scope {
        Scope::All => Vec::new(),
        Scope::Only(clients) => clients,
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
    shown(StatusCode::OK, "")
}

/// Renders the form, with the reason why the last attempt failed.
fn shown(status: StatusCode, refusal: &str) -> Response {
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
pub async fn enter(State(console): State<Console>, request: Request) -> Response {
    let by_form = !is_json(request.headers());
    let who = who(request.extensions());
    let headers = request.headers().clone();
    let entered = match timeout(KEY_WITHIN, taken(request, LARGEST)).await {
        Ok(Ok(bytes)) => entered(&console, &headers, &bytes, who, by_form).await,
        Ok(Err(problem)) => Err(problem),
        Err(_) => Err(Problem::new(StatusCode::REQUEST_TIMEOUT, "the key came too slowly, or stopped")),
    };
    match entered {
        Ok(signed) => welcomed(signed, &headers, by_form),
        Err(problem) if by_form => shown(problem.status(), refusal(&problem)),
        Err(problem) => problem.into_response(),
    }
}

async fn entered(
    console: &Console,
    headers: &HeaderMap,
    body: &Bytes,
    who: Who,
    by_form: bool,
) -> Result<SignedIn, Problem> {
    if is_from_elsewhere(headers) {
        let why = "signing in from another site is not allowed";
        return Err(Problem::forbidden(why).at(vec![Fault::beside("Origin", why)]));
    }
    let key = if by_form { from_form(body) } else { Some(parsed::<Entry>(body)?.key) };
    let key = key.ok_or_else(|| Problem::invalid("key", "is missing"))?;
    let guesses = console.api.guesses();
    let _place = guesses.look_up(who).await;
    let signed = console.api.hub()?.sign_in(key.trim()).await?;
    signed.ok_or_else(|| {
        tracing::warn!(?who, "sign-in with an invalid key");
        let fault = Fault::new("key", "must be a valid API key");
        let refusal = Problem::new(StatusCode::UNAUTHORIZED, "invalid or revoked API key").at(vec![fault]);
        guesses.wrong(who, refusal)
    })
}

fn welcomed(signed: SignedIn, headers: &HeaderMap, by_form: bool) -> Response {
    let cookie = cookie::made(&signed.token, cookie::is_secure(headers));
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
pub async fn leave(State(console): State<Console>, headers: HeaderMap) -> Result<Response, Problem> {
    let gone = (StatusCode::NO_CONTENT, [(header::SET_COOKIE, cookie::taken_away())]);
    let Some(token) = cookie::session(&headers) else { return Ok(gone.into_response()) };
    let Some(session) = console.api.hub()?.session(token).await? else { return Ok(gone.into_response()) };
    session_is_meant(&session, &headers)?;
    console.api.hub()?.sign_out(token).await?;
    Ok(gone.into_response())
}

/// Checks the CSRF token: a page of ours sent the request, not another site that made the browser send its cookie.
pub(crate) fn session_is_meant(session: &Session, headers: &HeaderMap) -> Result<(), Problem> {
    let given = headers.get("x-csrf-token").and_then(|value| value.to_str().ok()).unwrap_or_default();
    if session.is_meant_by(given) {
        return Ok(());
    }
    let fault = Fault::beside("x-csrf-token", "must be the value from GET /console/session");
    Err(Problem::forbidden("a change with a session needs the header x-csrf-token").at(vec![fault]))
}
