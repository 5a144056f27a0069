//! Tests of the API over real databases, called like a client does.

#[path = "../../../hub/testing/site.rs"]
#[expect(dead_code, reason = "the hub's own tests use the rest")]
mod site;

mod access;
mod changes;
mod console;
mod descriptions;
mod desk;
mod document;
mod doors;
mod forms;
mod nul;
mod overview;
mod refusals;
mod routes;
mod rows;
mod subsets;
mod traces;
mod unknown;
mod walk;
