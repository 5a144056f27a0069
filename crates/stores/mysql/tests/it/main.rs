//! The MySQL and MariaDB store against a real server. Rows are checked by SQL of the tests' own, never through the
//! store.

mod collision;
mod emails;
mod groups;
mod lane;
mod migrate;
mod network;
mod outage;
mod plans;
mod rendered;
mod server;
mod values;
