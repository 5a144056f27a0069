//! Lanes of the contract `outbox`, from a table in each database to each broker.

mod away;
pub mod broker;
mod delivery;
mod hung;
mod letters;
mod metrics;
mod refusals;
mod rules;
mod settings;
mod site;
