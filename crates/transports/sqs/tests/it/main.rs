//! Tests of the transport against an SQS emulator.

mod faults;
mod refusals;
mod server;
#[path = "../../../../seams/testing/records.rs"]
mod world;
