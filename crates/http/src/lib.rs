//! HTTP client for URLs chosen by others: webhooks, callbacks, secret stores, token requests.
//!
//! Owns: connections (a bounded pool, HTTP/1.1 and HTTP/2), TLS, the check of every address that is dialled,
//! deadlines, size limits, and the circuit breaker of a host. Must not: follow redirects, read proxy variables, retry
//! a request that may have been sent, or know what a request means.
//!
//! Invariant: no byte is sent to an address that the [`Guard`] refuses, even if its name resolved to another address
//! before; and no response is read beyond its size limit or its deadline.

mod breaker;
mod cidr;
mod client;
mod connection;
mod connection_pool;
mod dial;
mod error;
mod guard;
mod lookup;
mod message;
mod reserved;
mod resolve;
mod target;
mod tls;

pub use breaker::{Admission, Breaker, BreakerSettings};
pub use cidr::Cidr;
pub use client::{Client, ClientSettings, ResolvedTarget};
pub use error::{Error, ErrorKind};
pub use guard::{Guard, PlainHttp};
pub use lookup::{Lookups, Unresolved};
pub use message::{HttpRequest, HttpResponse, RequestLimits};
pub use reserved::{RESERVED_HEADERS, is_reserved_header};
pub use resolve::{Resolve, SystemResolver};
pub use target::Target;
pub use tls::Roots;

pub use hyper::header::{HeaderMap, HeaderName, HeaderValue};
pub use hyper::{Method, Version};
