//! Authentication: checks the key or session before anything else of a request is read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use postrider_hub::access::{Actor, Role, Scope};
use tokio::time::Instant;

use super::params::refuse_nul;
use super::{Api, Problem, unasked};
use crate::console::{cookie, session_is_meant};
use crate::guesses::{Who, who};

/// The authenticated caller. Only routes behind [`admit`] have one.
pub struct Caller(pub Actor);

impl Caller {
    /// Returns the caller if its role is at least this one; otherwise 403.
    pub fn at_least(&self, role: Role) -> Result<&Actor, Problem> {
        if self.0.role >= role {
            return Ok(&self.0);
        }
        let (needed, has) = (role.name(), self.0.role.name());
        Err(Problem::forbidden(format!("this needs the role {needed}; the API key has {has}")))
    }

    /// Returns the caller if its role is at least this one and it is not limited to some clients; otherwise 403.
    pub fn of_all_clients(&self, role: Role) -> Result<&Actor, Problem> {
        let actor = self.at_least(role)?;
        match actor.scope {
            Scope::All => Ok(actor),
            Scope::Only(_) => Err(Problem::forbidden("this needs an API key of all clients")),
        }
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        parts.extensions.get::<Actor>().cloned().map(Self).ok_or_else(Problem::unauthorized)
    }
}

/// Callers whose role is checked before the body is read: no body is read from a caller that may not send it.
macro_rules! checked_callers {
    ($($name:ident: $check:ident($role:ident)),* $(,)?) => {$(
        /// A caller that has the required role.
        pub struct $name(pub Caller);

        impl<S: Send + Sync> FromRequestParts<S> for $name {
            type Rejection = Problem;

            async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
                let caller = Caller::from_request_parts(parts, state).await?;
                caller.$check(Role::$role)?;
                Ok(Self(caller))
            }
        }
    )*};
}

checked_callers! {
    ByProducer: at_least(Producer),
    ByOperator: at_least(Operator),
    ByAdmin: at_least(Admin),
    ByOperatorOfAll: of_all_clients(Operator),
}

/// Time limit of a key lookup, longer than any takes.
const PATIENCE: Duration = Duration::from_secs(3);
/// Time after a successful lookup for which a caller may still read while the database is not available.
const REMEMBERED: Duration = Duration::from_mins(10);
/// Maximum number of remembered callers.
const GUESTS: usize = 1_000;

/// The recently authenticated callers, by key or session.
#[derive(Default)]
pub struct Recent(Mutex<HashMap<Pass, (Instant, Actor)>>);

impl Recent {
    fn lock(&self) -> MutexGuard<'_, HashMap<Pass, (Instant, Actor)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, pass: &Pass, actor: &Actor) {
        let mut guests = self.lock();
        if guests.len() >= GUESTS {
            guests.retain(|_, (at, _)| at.elapsed() < REMEMBERED);
        }
        if guests.len() < GUESTS || guests.contains_key(pass) {
            guests.insert(pass.clone(), (Instant::now(), actor.clone()));
        }
    }

    fn forget(&self, pass: &Pass) {
        self.lock().remove(pass);
    }

    fn find(&self, pass: &Pass) -> Option<Actor> {
        let guests = self.lock();
        guests.get(pass).filter(|(at, _)| at.elapsed() < REMEMBERED).map(|(_, actor)| actor.clone())
    }
}

/// The credential of a request: an API key or a session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Pass {
    Key(String),
    Session(String),
}

impl Pass {
    /// Reads the credential of a request. A key takes precedence over a cookie, even if it is wrong.
    fn of(headers: &HeaderMap) -> Option<Self> {
        let Some(given) = headers.get(header::AUTHORIZATION) else {
            return cookie::session(headers).map(|token| Self::Session(token.to_owned()));
        };
        let (scheme, key) = given.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| Self::Key(key.trim().to_owned()))
    }
}

impl Api {
    /// Authenticates by key or session cookie; a change with a cookie also needs its CSRF token.
    pub(super) async fn actor(
        &self,
        method: &Method,
        headers: &HeaderMap,
        who: Who,
    ) -> Result<Actor, Problem> {
        let pass = Pass::of(headers).ok_or_else(Problem::unauthorized)?;
        let _place = match &pass {
            Pass::Key(_) if self.recent.find(&pass).is_none() => self.guesses.look_up(who).await,
            _ => None,
        };
        match &pass {
            Pass::Session(token) if !method.is_safe() => {
                let session = self.hub()?.session(token).await?.ok_or_else(Problem::unauthorized)?;
                session_is_meant(&session, headers)?;
                Ok(session.actor)
            }
            pass if method.is_safe() => self.reader(pass).await?.ok_or_else(|| self.refused(pass, who)),
            pass => self.bearer(pass).await?.ok_or_else(|| self.refused(pass, who)),
        }
    }

    /// Counts a wrong key. A session cookie is not counted: expired ones are normal in browsers that keep polling.
    fn refused(&self, pass: &Pass, who: Who) -> Problem {
        match pass {
            Pass::Key(_) if who.is_some() => self.guesses.wrong(who, Problem::unauthorized()),
            _ => Problem::unauthorized(),
        }
    }

    /// Returns the reader; while the database is not available, a recently authenticated caller may still read.
    async fn reader(&self, pass: &Pass) -> Result<Option<Actor>, Problem> {
        let asked = tokio::time::timeout(PATIENCE, self.bearer(pass)).await;
        match asked.unwrap_or_else(|_| Err(Problem::away())) {
            Ok(Some(actor)) => {
                self.recent.note(pass, &actor);
                Ok(Some(actor))
            }
            Ok(None) => {
                self.recent.forget(pass);
                Ok(None)
            }
            Err(problem) => self.recent.find(pass).map(Some).ok_or(problem),
        }
    }

    /// Looks up the owner of a credential; `None` if it is no longer valid.
    pub(super) async fn bearer(&self, pass: &Pass) -> Result<Option<Actor>, Problem> {
        Ok(match pass {
            Pass::Key(key) => self.hub()?.authenticate(key).await?,
            Pass::Session(token) => self.hub()?.session(token).await?.map(|session| session.actor),
        })
    }
}

/// Middleware that authenticates the caller, and refuses NUL characters and unknown query parameters.
pub async fn admit(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let who = who(request.extensions());
    match api.actor(request.method(), request.headers(), who).await {
        Ok(actor) => {
            if let Err(problem) = refuse_nul(request.uri()).and_then(|()| unasked::refuse(&request)) {
                return problem.into_response();
            }
            request.extensions_mut().insert(actor);
            // Held until the response is built.
            let room = api.budget.share();
            request.extensions_mut().insert(room.clone());
            if let Some(pass) = Pass::of(request.headers()) {
                request.extensions_mut().insert(pass);
            }
            let answer = next.run(request).await;
            drop(room);
            answer
        }
        Err(problem) => problem.into_response(),
    }
}

/// Answers 404 for an unknown route.
pub async fn refuse_unknown() -> Problem {
    Problem::new(StatusCode::NOT_FOUND, "not found; /api/reference lists all routes")
}

/// Answers 405 for a method that the route does not support.
pub async fn refuse_method(method: Method) -> Problem {
    Problem::new(StatusCode::METHOD_NOT_ALLOWED, format!("{method} is not supported here"))
}
