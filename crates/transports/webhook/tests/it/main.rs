//! Webhooks against real servers on loopback: what they see, what they answer, and what they do wrong.

mod answers;
mod connections;
mod faults;
mod guarded;
mod libraries;
mod lookups;
mod tls;
mod world;
