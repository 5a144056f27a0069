//! Tests of the MySQL and MariaDB store on a real server. They check rows with their own SQL, never through the store.

mod collision;
mod emails;
mod groups;
mod lane;
mod lost_extensions;
mod migrate;
mod network;
mod outage;
mod plans;
mod rendered;
mod server;
mod values;
mod wake;
