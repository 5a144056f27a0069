//! Routes of `/overview`: the state of all lanes, once or as a stream.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Sse;
use axum::response::sse::{Event, KeepAlive};
use axum::{Extension, Json};
use futures::Stream;
use postrider_hub::access::Role;
use tokio::time::Instant;

use super::auth::{Caller, Credential};
use super::{Api, Problem};
use crate::overview::{Overview, Viewer};

/// Interval at which a stream checks that its key or session is still valid.
const CREDENTIAL_CHECK: Duration = Duration::from_secs(10);
/// Time limit of that check: a database that is not available must not delay the overview that shows it.
const CHECK_TIMEOUT: Duration = Duration::from_secs(2);
/// Interval of keep-alive comments, so that proxies do not close the stream.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// Get an overview of all lanes
///
/// Returns rates, counts and health of every lane, and everything that needs attention.
#[utoipa::path(get, path = "/overview", tag = "lanes",
    responses((status = 200, description = "The overview", body = Overview)))]
pub async fn get(State(api): State<Api>, caller: Caller) -> Result<Json<Overview>, Problem> {
    caller.of_all_clients(Role::Viewer)?;
    Ok(Json(api.sampler.current().await))
}

/// Stream the overview
///
/// Server-sent events named `overview`: every few seconds, and at once when the health of a lane changes. The stream
/// ends when the API key or session that opened it ends.
#[utoipa::path(get, path = "/overview/stream", tag = "lanes",
    responses((status = 200, description = "A stream of events that does not end", body = String, content_type = "text/event-stream"),
        (status = 429, description = "Too many streams are open: 20 for this API key, or 100 in total", body = Problem, content_type = "application/problem+json")))]
pub async fn stream(
    State(api): State<Api>,
    caller: Caller,
    Extension(credential): Extension<Credential>,
) -> Result<Sse<impl Stream<Item = Result<Event, Infallible>>>, Problem> {
    let actor = caller.of_all_clients(Role::Viewer)?;
    let full = || {
        Problem::new(StatusCode::TOO_MANY_REQUESTS, "too many streams are open, for this API key or in total")
    };
    let viewer = api.sampler.view(&actor.key).await.ok_or_else(full)?;
    let stream = OverviewStream { api, credential, viewer, checked: Instant::now() };
    let events = futures::stream::unfold(stream, |mut stream| async move {
        let overview = stream.next().await?;
        let event = Event::default().event("overview").json_data(&*overview);
        Some((Ok(event.unwrap_or_default()), stream))
    });
    Ok(Sse::new(events).keep_alive(KeepAlive::new().interval(KEEP_ALIVE)))
}

struct OverviewStream {
    api: Api,
    credential: Credential,
    viewer: Viewer,
    checked: Instant,
}

impl OverviewStream {
    async fn next(&mut self) -> Option<Arc<Overview>> {
        let overview = self.viewer.next().await?;
        if self.checked.elapsed() < CREDENTIAL_CHECK {
            return Some(overview);
        }
        self.checked = Instant::now();
        match tokio::time::timeout(CHECK_TIMEOUT, self.api.owner_of(&self.credential)).await {
            Ok(Ok(None)) => None,
            // While the database is not available the check is impossible, and the viewer must see that state.
            Ok(Ok(Some(_)) | Err(_)) | Err(_) => Some(overview),
        }
    }
}
