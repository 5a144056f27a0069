//! Tests of the hub on real databases. The tests check what it wrote with their own SQL.

#[path = "../../testing/fixture.rs"]
mod fixture;

mod accounts;
mod concurrency;
mod deletion;
mod events;
mod group_commit;
mod index_counts;
mod jobs;
mod keys;
mod migration;
mod moves;
mod parts;
mod query_plans;
mod schemas;
mod sessions;
mod wake_ups;
