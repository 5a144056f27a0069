//! Tests of the transport against real RabbitMQ servers.

mod faults;
mod refusals;
mod server;
#[path = "../../../../broker/testing/world.rs"]
mod world;
