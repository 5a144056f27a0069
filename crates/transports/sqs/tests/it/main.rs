//! Tests of the transport against an SQS emulator.

mod faults;
mod queues;
mod refusals;
#[path = "../../../../broker/testing/world.rs"]
mod world;
