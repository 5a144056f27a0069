//! The OpenAPI document: the one that is checked in.

use std::path::Path;

use postrider_server::api::document;

#[test]
fn the_checked_in_document_is_what_the_code_says() {
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
