//! Tests of the PostgreSQL store on a real server. They check rows with their own SQL, never through the store.

mod claim;
mod groups;
mod inspect;
mod lost_extensions;
mod migrate;
mod network;
mod outage;
mod plans;
mod pooler;
mod rendered;
mod server;
mod settle;
mod sweep;
mod unflushed_claims;
mod wake;
