//! The engine on the memory store, with scripted composers, transports and store faults, on a paused clock.

mod ahead;
mod distance;
mod early;
mod faults;
mod fixtures;
mod flow;
mod interrupted;
mod leases;
mod lookups;
mod maintenance;
mod ordered;
mod pools;
mod queue;
mod refused;
mod suspects;
mod target;
mod unanswered;
