//! Lanes of the contract `outbox`, from a table in each database to each broker.

pub mod broker;
mod dead_letters;
mod delivery;
mod hanging;
mod metrics;
mod refusals;
mod rules;
mod settings;
mod setup;
mod unavailable;
