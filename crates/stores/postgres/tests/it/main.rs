//! The PostgreSQL store against a real server. Rows are checked by SQL of the tests' own, never through the store.

mod claim;
mod groups;
mod inspect;
mod migrate;
mod network;
mod outage;
mod plans;
mod pooler;
mod rendered;
mod server;
mod settle;
mod sweep;
mod wake;
