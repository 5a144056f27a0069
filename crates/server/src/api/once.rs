//! `Idempotency-Key` of POST requests: a repetition returns what the first request created, and another request with
//! the same key is a conflict. Jobs store their keys themselves.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use postrider_hub::access::Actor;
use postrider_hub::{Error, Hub, request};
use serde::de::DeserializeOwned;

use super::body::{parsed, read};
use super::jobs::idempotency_key;
use super::{Api, Problem};

/// The `Idempotency-Key` of a request, if it has one.
pub struct Key(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        idempotency_key(&parts.headers).map(Self)
    }
}

impl Key {
    /// Combines the key with the content of the request; `None` without a key.
    pub fn told(self, content: &str) -> Option<request::Request> {
        self.0.map(|key| request::Request::new(key, content))
    }
}

/// A body, and the request's key and content for the idempotency check.
pub struct Keyed<T> {
    pub new: T,
    pub request: Option<request::Request>,
}

impl<T: DeserializeOwned> FromRequest<Api> for Keyed<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let key = Key(idempotency_key(request.headers())?);
        let bytes = read(request, api.limits.body).await?;
        let new = parsed(&bytes)?;
        // Members are sorted, so that their order does not matter.
        let content = serde_json::from_slice::<serde_json::Value>(&bytes).unwrap_or_default();
        Ok(Self { new, request: key.told(&content.to_string()) })
    }
}

/// The result of [`once`]: newly created, or created before.
pub enum Once<M> {
    Made(M),
    /// The id of the object that the same request created before.
    Before(String),
}

/// Creates an object, unless the same request created it before.
pub async fn once<M>(
    (hub, actor): (&Hub, &Actor),
    kind: &'static str,
    request: Option<request::Request>,
    make: impl Future<Output = Result<M, Error>>,
    id: fn(&M) -> &String,
) -> Result<Once<M>, Problem> {
    let Some(request) = request else { return Ok(Once::Made(make.await?)) };
    if let Some(made) = hub.made_before(actor, kind, &request).await? {
        return Ok(Once::Before(made));
    }
    match make.await {
        Ok(made) => {
            hub.remember(actor, kind, &request, id(&made)).await?;
            Ok(Once::Made(made))
        }
        // A concurrent equal request may have been first.
        Err(conflict @ (Error::Conflict { .. } | Error::Store(_))) => {
            match hub.made_before(actor, kind, &request).await? {
                Some(made) => Ok(Once::Before(made)),
                None => Err(conflict.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
