//! The hub on real databases. What it wrote is checked by SQL of the test's own.

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
