//! The transport against relays that follow a script, down to the byte; and against real servers where there are any.

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
