//! `Idempotency-Key` on what is made by POST: the same request again answers with what the first one made, and another
//! request under the same key is a conflict. Jobs keep their keys themselves.

use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use postrider_hub::access::Actor;
use postrider_hub::{Error, Hub, request};
use serde::de::DeserializeOwned;

use super::body::{parsed, read};
use super::jobs::idempotency_key;
use super::{Api, Problem};

/// The key, where the request has one.
pub struct Key(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for Key {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        idempotency_key(&parts.headers).map(Self)
    }
}

impl Key {
    pub fn told(self, content: &str) -> Option<request::Request> {
        self.0.map(|key| request::Request::new(key, content))
    }
}

/// A body, and the request as its key tells it.
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
        // Members sorted, so that their order says nothing.
        let content = serde_json::from_slice::<serde_json::Value>(&bytes).unwrap_or_default();
        Ok(Self { new, request: key.told(&content.to_string()) })
    }
}

/// What a request came to.
pub enum Once<M> {
    Made(M),
    /// The id of what the same request made before.
    Before(String),
}

/// Makes something, unless the same request made it before.
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
        // The same request, a moment before.
        Err(conflict @ (Error::Conflict { .. } | Error::Store(_))) => {
            match hub.made_before(actor, kind, &request).await? {
                Some(made) => Ok(Once::Before(made)),
                None => Err(conflict.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
