//! Tests of the transport against real NATS servers.

mod faults;
mod refusals;
mod server;
#[path = "../../../../broker/testing/world.rs"]
mod world;
