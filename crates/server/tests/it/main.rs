//! The API over real databases, asked as a caller asks it.

#[path = "../../../hub/testing/site.rs"]
mod site;

mod access;
mod desk;
mod document;
mod refusals;
mod routes;
