//! Tests of the transport against librdkafka's mock cluster, which fails on demand, and against a real broker.

mod faults;
mod mock_cluster;
mod real_broker;
mod refusals;
#[path = "../../../../seams/testing/records.rs"]
mod world;
