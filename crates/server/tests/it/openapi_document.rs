//! Tests that the checked-in OpenAPI document is current.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use postrider_hub::access::Role;
use postrider_server::Api;
use postrider_server::api::{Limits, document};
use postrider_services::schemathesis::{self, Options};

use crate::fixture::{self, Fixture};
use crate::test_api::Lanes;

#[test]
fn the_checked_in_document_is_current() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/openapi.json");
    let made = document().to_pretty_json().expect("JSON") + "\n";
    if std::env::var_os("UPDATE_SNAPSHOTS").is_some() {
        std::fs::write(&file, &made).expect("the document is written");
    }
    let kept = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(
        kept == made,
        "docs/reference/openapi.json is not what the code says: UPDATE_SNAPSHOTS=1 writes it"
    );
    assert!(made.contains("\"openapi\": \"3.1"));
}

/// Generators derive function names from operation ids.
#[test]
fn every_operation_has_a_unique_id() {
    let document = serde_json::to_value(document()).expect("JSON");
    let paths = document["paths"].as_object().expect("paths").values();
    let all: Vec<&serde_json::Value> =
        paths.flat_map(|item| item.as_object().expect("methods").values()).collect();
    let ids: BTreeSet<&str> = all.iter().filter_map(|operation| operation["operationId"].as_str()).collect();
    assert_eq!(ids.len(), all.len(), "{ids:?}");
    assert!(ids.contains("postDispatchJobsIdRetry") && ids.contains("getLanesIdRowsRowMailHtml"), "{ids:?}");
}

/// Settings of the fuzzer: a request that fits the document may still get 422 for what the document cannot express (a
/// private address, an unknown account), and a batch has a result per entry.
const SETTINGS: &str = r#"
[checks]
positive_data_acceptance.expected-statuses = ["2xx", "400", "403", "404", "409", "422"]

[[operations]]
include-path-regex = "/stream$"
enabled = false

# It cannot send the example of a message (message/rfc822).
[[operations]]
include-path-regex = "/emails$"
phases.examples.enabled = false

[[operations]]
include-path-regex = "/batch$"
checks.negative_data_rejection.enabled = false
"#;

#[tokio::test(flavor = "multi_thread")]
async fn schemathesis_finds_no_server_error_and_no_mismatch() {
    fixture::sqlite(|fixture| async move { run_schemathesis(&fixture).await }).await;
}

async fn run_schemathesis(fixture: &Fixture) {
    let (key, _) = fixture.key(Role::Admin, &[]).await;
    let lanes = Lanes { table: fixture.lane.clone(), ..Lanes::default() };
    let api = Api::new(Arc::new(lanes), Limits::default());
    api.open(Arc::clone(&fixture.hub));
    let socket = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = socket.local_addr().expect("an address");
    let server = tokio::spawn(async move { axum::serve(socket, api.into_routes()).await });
    let options = Options {
        document: format!("http://{address}/api/openapi.json"),
        headers: vec![format!("Authorization: Bearer {key}")],
        cases: std::env::var("POSTRIDER_TEST_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(8),
        seed: 1,
        settings: SETTINGS.to_owned(),
    };
    let found = tokio::task::spawn_blocking(move || schemathesis::run(&options)).await.expect("it ends");
    server.abort();
    if let Err(text) = found.expect("Schemathesis can be had") {
        panic!("{text}");
    }
}
