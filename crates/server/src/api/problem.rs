//! Error responses according to RFC 9457.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use postrider_hub::{CLIENT_NOT_ALLOWED, Error, Fault};
use postrider_seams::store::Class;
use serde::Serialize;
use utoipa::ToSchema;

/// An error (RFC 9457, `application/problem+json`).
#[derive(Debug, Clone, Serialize, ToSchema)]
pub struct Problem {
    /// Always `about:blank`: the HTTP status says what kind of error it is.
    #[serde(rename = "type")]
    kind: &'static str,
    /// The HTTP status in words.
    title: &'static str,
    /// The HTTP status.
    status: u16,
    /// What is wrong with this request.
    detail: String,
    /// Each mistake in the request. Absent if there is none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    #[schema(required = false)]
    errors: Vec<Fault>,
    /// If a whole batch was refused: the result of each entry.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(required = false, value_type = Vec<Object>)]
    results: Option<serde_json::Value>,
}

impl Problem {
    /// Creates an error with this status and detail.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Self {
        let title = status.canonical_reason().unwrap_or("Problem");
        Self {
            kind: "about:blank",
            title,
            status: status.as_u16(),
            detail: detail.into(),
            errors: Vec::new(),
            results: None,
        }
    }

    /// Sets the list of mistakes in the request.
    #[must_use]
    pub fn with_faults(mut self, faults: Vec<Fault>) -> Self {
        self.errors = faults;
        self
    }

    /// Sets the results of a batch's entries.
    #[must_use]
    pub fn with_results(mut self, results: serde_json::Value) -> Self {
        self.results = Some(results);
        self
    }

    /// Returns the mistakes in the request.
    pub fn faults(&self) -> &[Fault] {
        &self.errors
    }

    /// Returns 401, equal for a missing, a wrong and a revoked key.
    pub fn unauthorized() -> Self {
        let detail = "an API key is needed: send it as `Authorization: Bearer KEY`";
        let fault = Fault::outside_body("Authorization", "must contain a valid API key");
        Self::new(StatusCode::UNAUTHORIZED, detail).with_faults(vec![fault])
    }

    /// Returns 403: the key lacks the permission.
    pub fn forbidden(detail: impl Into<String>) -> Self {
        let problem = Self::new(StatusCode::FORBIDDEN, detail);
        let fault = Fault::outside_body("Authorization", problem.detail.clone());
        problem.with_faults(vec![fault])
    }

    /// Returns 503: the database is not available.
    pub fn unavailable() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "the database is not available; try again later")
    }

    /// Returns 422 for a member of the body.
    pub fn invalid(field: impl Into<String>, message: impl Into<String>) -> Self {
        Error::invalid(field, message).into()
    }

    /// Returns 422 for a query parameter or a header.
    pub fn parameter(name: &str, message: impl Into<String>) -> Self {
        Error::parameter(name, message).into()
    }

    /// Returns the HTTP status.
    pub fn status(&self) -> StatusCode {
        StatusCode::from_u16(self.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let text = error.to_string();
        match error {
            Error::Invalid(faults) => {
                let detail = "the request is not valid: see `errors`";
                Self::new(StatusCode::UNPROCESSABLE_ENTITY, detail).with_faults(faults)
            }
            Error::NotFound(_) => {
                let fault = Fault::outside_body("id", text.clone());
                Self::new(StatusCode::NOT_FOUND, text).with_faults(vec![fault])
            }
            Error::Conflict { field, message } => {
                let faults = field.map(|field| Fault::outside_body(field, message)).into_iter().collect();
                Self::new(StatusCode::CONFLICT, text).with_faults(faults)
            }
            Error::Forbidden { field: "id", message } => {
                Self::forbidden(text).with_faults(vec![Fault::outside_body("id", message)])
            }
            Error::Forbidden { field, message } => {
                Self::forbidden(text).with_faults(vec![Fault::new(field, message)])
            }
            Error::ClientNotAllowed(field) => {
                Self::forbidden(text).with_faults(vec![Fault::new(field, CLIENT_NOT_ALLOWED)])
            }
            Error::Store(error) => {
                // The store's error names hosts and tables: it belongs in the log, not in the response.
                tracing::error!(%error, "the database of the API failed");
                match error.class {
                    Class::Transient => Self::unavailable(),
                    Class::Misconfigured => Self::new(
                        StatusCode::SERVICE_UNAVAILABLE,
                        "the database is not set up as expected: an operator finds the details in the log",
                    ),
                    Class::Permanent => Self::new(
                        StatusCode::INTERNAL_SERVER_ERROR,
                        "the database refused the request: an operator finds the details in the log",
                    ),
                }
            }
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let body = serde_json::to_vec(&self).unwrap_or_default();
        let mut response = (status, body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("5"));
        }
        if status == StatusCode::TOO_MANY_REQUESTS {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("60"));
        }
        response
    }
}
