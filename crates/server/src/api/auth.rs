//! Authentication: checks the key or session before anything else of a request is read.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::extract::{FromRequestParts, Request, State};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use postrider_hub::access::{Actor, ClientScope, Role};
use tokio::time::Instant;

use super::params::refuse_nul;
use super::{Api, Problem, no_query};
use crate::console::{check_csrf, cookie};
use crate::guess_limit::{ClientAddress, client_address};

/// The authenticated caller. Only routes behind [`authenticate`] have one.
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
            ClientScope::All => Ok(actor),
            ClientScope::Only(_) => Err(Problem::forbidden("this needs an API key of all clients")),
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
    ProducerCaller: at_least(Producer),
    OperatorCaller: at_least(Operator),
    AdminCaller: at_least(Admin),
    GlobalOperatorCaller: of_all_clients(Operator),
}

/// Time limit of a key lookup, longer than any takes.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(3);
/// Time after a successful lookup for which a caller may still read while the database is not available.
const RECENT: Duration = Duration::from_mins(10);
/// Maximum number of remembered callers.
const MAX_RECENT_CALLERS: usize = 1_000;

/// The recently authenticated callers, by key or session.
#[derive(Default)]
pub struct RecentCallers(Mutex<HashMap<Credential, (Instant, Actor)>>);

impl RecentCallers {
    fn lock(&self) -> MutexGuard<'_, HashMap<Credential, (Instant, Actor)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn record(&self, credential: &Credential, actor: &Actor) {
        let mut callers = self.lock();
        if callers.len() >= MAX_RECENT_CALLERS {
            callers.retain(|_, (at, _)| at.elapsed() < RECENT);
        }
        if callers.len() < MAX_RECENT_CALLERS || callers.contains_key(credential) {
            callers.insert(credential.clone(), (Instant::now(), actor.clone()));
        }
    }

    fn forget(&self, credential: &Credential) {
        self.lock().remove(credential);
    }

    fn find(&self, credential: &Credential) -> Option<Actor> {
        let callers = self.lock();
        callers.get(credential).filter(|(at, _)| at.elapsed() < RECENT).map(|(_, actor)| actor.clone())
    }
}

/// The credential of a request: an API key or a session.
#[derive(Clone, PartialEq, Eq, Hash)]
pub enum Credential {
    Key(String),
    Session(String),
}

impl Credential {
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
        address: ClientAddress,
    ) -> Result<Actor, Problem> {
        let credential = Credential::of(headers).ok_or_else(Problem::unauthorized)?;
        let _permit = match &credential {
            Credential::Key(_) if self.recent_callers.find(&credential).is_none() => {
                self.guess_limit.acquire_lookup(address).await
            }
            _ => None,
        };
        match &credential {
            Credential::Session(token) if !method.is_safe() => {
                let session = self.hub()?.session(token).await?.ok_or_else(Problem::unauthorized)?;
                check_csrf(&session, headers)?;
                Ok(session.actor)
            }
            credential if method.is_safe() => {
                self.reading_caller(credential).await?.ok_or_else(|| self.refuse(credential, address))
            }
            credential => self.owner_of(credential).await?.ok_or_else(|| self.refuse(credential, address)),
        }
    }

    /// Counts a wrong key. A session cookie is not counted: expired ones are normal in browsers that keep polling.
    fn refuse(&self, credential: &Credential, address: ClientAddress) -> Problem {
        match credential {
            Credential::Key(_) if address.is_some() => {
                self.guess_limit.count_wrong_key(address, Problem::unauthorized())
            }
            _ => Problem::unauthorized(),
        }
    }

    /// Returns the reader; while the database is not available, a recently authenticated caller may still read.
    async fn reading_caller(&self, credential: &Credential) -> Result<Option<Actor>, Problem> {
        let found = tokio::time::timeout(LOOKUP_TIMEOUT, self.owner_of(credential)).await;
        match found.unwrap_or_else(|_| Err(Problem::unavailable())) {
            Ok(Some(actor)) => {
                self.recent_callers.record(credential, &actor);
                Ok(Some(actor))
            }
            Ok(None) => {
                self.recent_callers.forget(credential);
                Ok(None)
            }
            Err(problem) => self.recent_callers.find(credential).map(Some).ok_or(problem),
        }
    }

    /// Looks up the owner of a credential; `None` if it is no longer valid.
    pub(super) async fn owner_of(&self, credential: &Credential) -> Result<Option<Actor>, Problem> {
        Ok(match credential {
            Credential::Key(key) => self.hub()?.authenticate(key).await?,
            Credential::Session(token) => self.hub()?.session(token).await?.map(|session| session.actor),
        })
    }
}

/// Middleware that authenticates the caller, and refuses NUL characters and unknown query parameters.
pub async fn authenticate(State(api): State<Api>, mut request: Request, next: Next) -> Response {
    let address = client_address(request.extensions());
    match api.actor(request.method(), request.headers(), address).await {
        Ok(actor) => {
            if let Err(problem) =
                refuse_nul(request.uri()).and_then(|()| no_query::refuse_parameters(&request))
            {
                return problem.into_response();
            }
            request.extensions_mut().insert(actor);
            // Held until the response is built.
            let share = api.budget.share();
            request.extensions_mut().insert(share.clone());
            if let Some(credential) = Credential::of(request.headers()) {
                request.extensions_mut().insert(credential);
            }
            let answer = next.run(request).await;
            drop(share);
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
