//! `Idempotency-Key` of POST requests: a repetition returns what the first request created, and another request with
//! the same key is a conflict. Jobs store their keys themselves.

use axum::Json;
use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::StatusCode;
use axum::http::request::Parts;
use postrider_hub::access::Actor;
use postrider_hub::idempotency::IdempotentRequest;
use postrider_hub::{Error, Hub};
use serde::de::DeserializeOwned;
use utoipa::ToSchema;

use super::body::{parse_json, read};
use super::jobs::idempotency_key;
use super::{Api, Problem};

/// The `Idempotency-Key` of a request, if it has one.
pub struct IdempotencyKey(pub Option<String>);

impl<S: Send + Sync> FromRequestParts<S> for IdempotencyKey {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        idempotency_key(&parts.headers).map(Self)
    }
}

impl IdempotencyKey {
    /// Combines the key with the content of the request; `None` without a key.
    pub fn with_content(self, content: &str) -> Option<IdempotentRequest> {
        self.0.map(|key| IdempotentRequest::new(key, content))
    }
}

/// The key as a parameter in the API document.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Header)]
pub struct IdempotencyHeader {
    /// Repeating the request with the same key within 24 hours returns the first result.
    #[param(rename = "Idempotency-Key", min_length = 1, max_length = 255, pattern = "^[!-~]{1,255}$")]
    #[expect(dead_code, reason = "the header is read by `IdempotencyKey`")]
    key: Option<String>,
}

/// A body, and the request's key and content for the idempotency check.
pub struct IdempotentBody<T> {
    pub new: T,
    pub request: Option<IdempotentRequest>,
}

impl<T: DeserializeOwned + ToSchema + Send + 'static> FromRequest<Api> for IdempotentBody<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let key = IdempotencyKey(idempotency_key(request.headers())?);
        let body = read(request, api.limits.body).await?;
        let work = async move |bytes: Bytes| {
            let new = parse_json(&bytes)?;
            // Members are sorted, so that their order does not matter.
            let content = serde_json::from_slice::<serde_json::Value>(&bytes).unwrap_or_default();
            Ok(Self { new, request: key.with_content(&content.to_string()) })
        };
        api.large_bodies.run(body, work).await
    }
}

/// The result of [`create_once`]: newly created, or created before.
pub enum Creation<M> {
    Created(M),
    /// The id of the object that the same request created before.
    Repeated(String),
}

impl<M> Creation<M> {
    /// Returns 201 with the new object, or 200 with what `find` returns for the id of the one created before.
    pub async fn response(
        self,
        find: impl AsyncFnOnce(&str) -> Result<M, Error>,
    ) -> Result<(StatusCode, Json<M>), Problem> {
        Ok(match self {
            Self::Created(made) => (StatusCode::CREATED, Json(made)),
            Self::Repeated(id) => (StatusCode::OK, Json(find(&id).await?)),
        })
    }
}

/// Creates an object, unless the same request created it before.
pub async fn create_once<M>(
    (hub, actor): (&Hub, &Actor),
    kind: &'static str,
    request: Option<IdempotentRequest>,
    make: impl Future<Output = Result<M, Error>>,
    id: fn(&M) -> &String,
) -> Result<Creation<M>, Problem> {
    let Some(request) = request else { return Ok(Creation::Created(make.await?)) };
    if let Some(made) = hub.find_created(actor, kind, &request).await? {
        return Ok(Creation::Repeated(made));
    }
    match make.await {
        Ok(made) => {
            hub.store_request(actor, kind, &request, id(&made)).await?;
            Ok(Creation::Created(made))
        }
        // A concurrent equal request may have been first.
        Err(conflict @ (Error::Conflict { .. } | Error::Store(_))) => {
            match hub.find_created(actor, kind, &request).await? {
                Some(made) => Ok(Creation::Repeated(made)),
                None => Err(conflict.into()),
            }
        }
        Err(error) => Err(error.into()),
    }
}
