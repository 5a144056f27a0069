//! HTTP requests to addresses that other people chose: webhooks, callbacks, secret stores, token calls.
//!
//! Owns: connections (a bounded pool, HTTP/1.1 and 2), TLS, the check of the address that is really dialled, deadlines
//! and caps, and the breaker of a host. Must not: follow redirects, read proxies from the environment, retry what may
//! have been sent, or know what a request means.
//!
//! Invariant: no byte goes to an address that the [`Guard`] refuses, whatever the name said a moment before; and an
//! answer is read up to its cap, by its deadline, or not at all.

mod breaker;
mod call;
mod cidr;
mod client;
mod connection;
mod dial;
mod error;
mod guard;
mod lookup;
mod pool;
mod resolve;
mod target;
mod tls;

pub use breaker::{Admission, Breaker, BreakerSettings};
pub use call::{Answer, Call, Limits};
pub use cidr::Cidr;
pub use client::{Client, ClientSettings, Route};
pub use error::{Error, Fault};
pub use guard::{Guard, PlainHttp};
pub use lookup::{Lookups, Unresolved};
pub use resolve::{Resolve, SystemResolver};
pub use target::Target;
pub use tls::Roots;

pub use hyper::header::{HeaderMap, HeaderName, HeaderValue};
pub use hyper::{Method, Version};
