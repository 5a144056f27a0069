//! The engine on the memory store, with scripted composers, transports and store faults, on a paused clock.

mod bench;
mod faults;
mod flow;
mod leases;
mod lookups;
mod nets;
mod ordered;
mod pools;
mod queue;
mod suspects;
mod target;
mod unanswered;
