//! Tests of the API over real databases, called like a client does.

#[path = "../../../hub/testing/fixture.rs"]
#[expect(dead_code, reason = "the hub's own tests use the rest")]
mod fixture;

mod audit_log;
mod console;
mod invalid_input;
mod limits;
mod nul_characters;
mod openapi_descriptions;
mod openapi_document;
mod operations;
mod optional_members;
mod overview;
mod permissions;
mod request_bodies;
mod routes;
mod rows;
mod test_api;
mod traces;
mod unknown_values;
