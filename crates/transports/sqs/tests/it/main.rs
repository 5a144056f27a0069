//! The transport against an emulator of SQS.

mod faults;
mod queues;
mod refusals;
#[path = "../../../../broker/testing/world.rs"]
mod world;
