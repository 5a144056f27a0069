//! The door: nothing is looked at before the key is.

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use postrider_hub::access::{Actor, Role, Scope};

use super::{Api, Problem};
use crate::console::{cookie, session_is_meant};

/// Who asks. Only routes behind [`admit`] have one.
pub struct Caller(pub Actor);

impl Caller {
    /// The caller, if its role is this one or more.
    pub fn at_least(&self, role: Role) -> Result<&Actor, Problem> {
        if self.0.role >= role {
            return Ok(&self.0);
        }
        let (needed, has) = (role.name(), self.0.role.name());
        Err(Problem::forbidden(format!("this needs the role {needed}; the key has {has}")))
    }

    /// The same, for what belongs to no client.
    pub fn of_all_clients(&self, role: Role) -> Result<&Actor, Problem> {
        let actor = self.at_least(role)?;
        match actor.scope {
            Scope::All => Ok(actor),
            Scope::Only(_) => Err(Problem::forbidden("this needs a key of all clients")),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Actor>().cloned().map(Self).ok_or_else(Problem::unauthorized)
    }
}

/// What somebody was let in with.
#[derive(Clone)]
pub enum Pass {
    Key(String),
    Session(String),
}

impl Pass {
    /// A key is looked at first, right or wrong.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let Some(given) = headers.get(header::AUTHORIZATION) else {
            return cookie::session(headers).map(|token| Self::Session(token.to_owned()));
        };
        let (scheme, key) = given.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| Self::Key(key.trim().to_owned()))
    }
}

impl Api {
    /// Whoever brings a key, or a session's cookie; a change by a cookie needs its token besides.
    pub(super) async fn actor(&self, method: &Method, headers: &HeaderMap) -> Result<Actor, Problem> {
        let pass = Pass::of(headers).ok_or_else(Problem::unauthorized)?;
        match &pass {
            Pass::Session(token) if !method.is_safe() => {
                let session = self.hub()?.session(token).await?.ok_or_else(Problem::unauthorized)?;
                session_is_meant(&session, headers)?;
                Ok(session.actor)
            }
            pass => self.bearer(pass).await?.ok_or_else(Problem::unauthorized),
        }
    }

    /// Who this is now; `None` where it opens nothing any more.
    pub(super) async fn bearer(&self, pass: &Pass) -> Result<Option<Actor>, Problem> {
        Ok(match pass {
            Pass::Key(key) => self.hub()?.authenticate(key).await?,
            Pass::Session(token) => self.hub()?.session(token).await?.map(|session| session.actor),
        })
    }
}

pub async fn admit(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    match api.actor(request.method(), request.headers()).await {
        Ok(actor) => {
            request.extensions_mut().insert(actor);
            next.run(request).await
        }
        Err(problem) => problem.into_response(),
    }
}

pub async fn refuse_unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "there is nothing here; /api/reference shows what there is")
}

pub async fn refuse_method(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} can't be done here"))
}
