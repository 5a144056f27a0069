//! Tests of webhooks against real servers on loopback: what they receive, how they answer, and how they fail.

mod answers;
mod connections;
mod faults;
mod guarded;
mod libraries;
mod lookups;
mod tls;
mod world;
