//! Payload schemas: their cost is limited, however they are written.

use std::time::{Duration, Instant};

use postrider_hub::Error;
use postrider_hub::job::NewJob;
use serde_json::{Map, Value, json};

use crate::fixture::{Fixture, on_every_database, root};
use crate::jobs::plain;

on_every_database!(an_expensive_schema_is_refused_quickly, an_unreadable_schema_is_reported,);

/// A schema of 1.4 KB in which each level refers to the one below it twice: 2^24 checks, and as many errors.
fn doubling(keyword: &str) -> Value {
    let mut definitions = Map::new();
    definitions.insert("a0".to_owned(), json!({"type": "string"}));
    for level in 1..=24 {
        let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        definitions.insert(format!("a{level}"), json!({keyword: [below, below]}));
    }
    json!({"$defs": definitions, "$ref": "#/$defs/a24"})
}

fn job(payload: &str) -> NewJob {
    NewJob { schema_id: Some("s".to_owned()), payload: Some(payload.to_owned()), ..plain("a") }
}

async fn an_expensive_schema_is_refused_quickly(fixture: &Fixture) {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        let schema = doubling(keyword);
        assert!(schema.to_string().len() < 1_600, "{}", schema.to_string().len());
        fixture.hub.put_schema(&root(), "s", &schema).await.expect("few nodes");
        let start = Instant::now();
        let refused = fixture.hub.create_job(&root(), job("1")).await.expect_err("too much work");
        assert!(refused.to_string().contains("too large for its schema"), "{keyword}: {refused}");
        assert!(start.elapsed() < Duration::from_secs(2), "{keyword}: {:?}", start.elapsed());
    }
    let nested = json!({"anyOf": [{"type": "string"}, {"type": "object", "properties": {"x": {"$ref": "#"}}, "required": ["x"]}]});
    fixture.hub.put_schema(&root(), "s", &nested).await.expect("a usual schema");
    fixture.hub.create_job(&root(), job(r#"{"x":{"x":"y"}}"#)).await.expect("it fits");
    let refused =
        fixture.hub.create_job(&root(), job(r#"{"x":{"x":1}}"#)).await.expect_err("it does not fit");
    assert!(matches!(&refused, Error::Invalid(faults) if faults[0].field == "payload"), "{refused}");
}

async fn an_unreadable_schema_is_reported(fixture: &Fixture) {
    fixture.hub.put_schema(&root(), "s", &json!({})).await.expect("a schema");
    fixture.run("UPDATE dispatch_schemas SET document = 'no json'").await;
    let refused = fixture.hub.create_job(&root(), job("1")).await.expect_err("no schema");
    assert!(matches!(&refused, Error::Invalid(faults) if faults[0].field == "schemaId"), "{refused}");
    assert_eq!(fixture.hub.schemas().await.expect("the list").len(), 1);
}
