//! Encodes an envelope as an HTTP request: target, headers, signature.
//!
//! Invariant: a row cannot change the user agent, the length of the body, where a message ends, or its signature.

use postrider_http::{HeaderMap, HeaderName, HeaderValue, HttpRequest, Method, Target, is_reserved_header};
use postrider_seams::Webhook;

use crate::sign;

#[cfg(test)]
mod tests;

/// Value of the `User-Agent` header of every webhook.
pub const USER_AGENT: &str = concat!("Postrider/", env!("CARGO_PKG_VERSION"));

/// The reason why a row cannot be encoded.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum EncodeError {
    /// The row is invalid.
    Row(String),
    /// A secret is invalid. An operator may fix it, so the row waits.
    Secret(&'static str),
}

/// Builds the request, with a signature made at `now` in Unix seconds.
pub(crate) fn encode(
    id: &str,
    webhook: &Webhook,
    target: Target,
    now: i64,
) -> Result<HttpRequest, EncodeError> {
    let mut headers = HeaderMap::with_capacity(webhook.headers.len() + 8);
    headers.insert("user-agent", HeaderValue::from_static(USER_AGENT));
    for (name, value) in webhook.headers.iter().filter(|(name, _)| !is_reserved_header(name)) {
        let name = HeaderName::try_from(name.as_str()).map_err(|_| {
            EncodeError::Row(
                "headers: a name contains a character that is not allowed in a header name".to_owned(),
            )
        })?;
        let value = HeaderValue::try_from(value.as_str()).map_err(|_| {
            EncodeError::Row(format!(
                "headers.{name}: contains a character that is not allowed in a header value"
            ))
        })?;
        headers.insert(name, value);
    }
    let header_value = |field: &str, value: &str| {
        HeaderValue::try_from(value).map_err(|_| {
            EncodeError::Row(format!("{field}: contains a character that is not allowed in a header value"))
        })
    };
    headers.insert("content-type", header_value("content_type", &webhook.content_type)?);
    headers.insert("webhook-id", header_value("id", id)?);
    headers.insert("webhook-timestamp", HeaderValue::from(now));
    if let Some(authorization) = &webhook.authorization {
        let mut value = HeaderValue::try_from(authorization.reveal()).map_err(|_| {
            EncodeError::Secret(
                "the account's token contains a character that is not allowed in a header value",
            )
        })?;
        value.set_sensitive(true);
        headers.insert("authorization", value);
    }
    if !webhook.signing.is_empty() {
        let keys: Result<Vec<_>, _> = webhook.signing.iter().map(sign::key).collect();
        let keys = keys.map_err(EncodeError::Secret)?;
        headers.insert(
            "webhook-signature",
            header_value("id", &sign::signatures(&keys, id, now, &webhook.body))?,
        );
    }
    Ok(HttpRequest { method: Method::POST, target, headers, body: webhook.body.clone() })
}
