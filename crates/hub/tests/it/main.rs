//! Tests of the hub on real databases. The tests check what it wrote with their own SQL.

#[path = "../../testing/site.rs"]
mod site;

mod accounts;
mod events;
mod guards;
mod jobs;
mod keys;
mod moves;
mod plans;
mod removal;
mod schemas;
mod sessions;
mod tables;
mod together;
