//! The headers that only the sender of a request sets.

/// Headers that a request's author cannot set: hop-by-hop headers (RFC 9110, 7.6.1), those that frame or describe the
/// body, and those of Standard Webhooks.
pub const RESERVED_HEADERS: [&str; 18] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-type",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "webhook-id",
    "webhook-signature",
    "webhook-timestamp",
];

/// Whether the header is one of [`RESERVED_HEADERS`]; the comparison ignores case.
pub fn is_reserved_header(name: &str) -> bool {
    RESERVED_HEADERS.iter().any(|reserved| reserved.eq_ignore_ascii_case(name))
}
