//! Tests of the transport against relays that follow a script byte by byte, and against real servers if there are any.

mod crowds;
mod pooling;
mod real;
mod recipients;
mod refusals;
mod relay;
mod sending;
mod silence;
mod tls;
mod vanished;
mod world;
