//! Tests of webhooks against real servers on loopback: what they receive, how they answer, and how they fail.

mod address_guard;
mod connections;
mod faults;
mod fixtures;
mod libraries;
mod lookups;
mod responses;
mod tls;
