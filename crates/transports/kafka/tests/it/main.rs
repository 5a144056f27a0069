//! Tests of the transport against librdkafka's mock cluster, which fails on demand, and against a real broker.

mod faults;
mod mock;
mod real;
mod refusals;
#[path = "../../../../broker/testing/world.rs"]
mod world;
