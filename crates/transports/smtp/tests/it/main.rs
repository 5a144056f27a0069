//! Tests of the transport against relays that follow a script byte by byte, and against real servers if there are any.

mod fixtures;
mod pooling;
mod real_servers;
mod recipient_limits;
mod recipients;
mod refusals;
mod relay;
mod sending;
mod timeouts;
mod tls;
mod unreachable;
