//! Tests of the transport against real RabbitMQ servers.

mod faults;
mod refusals;
mod server;
#[path = "../../../../seams/testing/records.rs"]
mod world;
