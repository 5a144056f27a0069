//! Tests that the OpenAPI document has summaries, descriptions and examples.

use std::collections::BTreeSet;

use postrider_server::api::document;
use serde_json::{Value, json};

/// Words that start a summary which cannot be understood alone.
const NO_VERBS: [&str; 12] =
    ["A", "All", "An", "Every", "From", "How", "Its", "New", "One", "The", "What", "ClientAddress"];

fn whole() -> Value {
    serde_json::to_value(document()).expect("JSON")
}

/// Returns every operation, with its method and path.
fn operations(document: &Value) -> Vec<(String, &Value)> {
    let paths = document["paths"].as_object().expect("paths");
    let methods = paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().expect("methods");
        methods.iter().map(move |(method, operation)| (format!("{method} {path}"), operation))
    });
    methods.collect()
}

fn text<'a>(value: &'a Value, member: &str) -> &'a str {
    value[member].as_str().unwrap_or_default()
}

/// Whether a summary alone says what the operation does: `Pause a pool` does, `Its jobs wait.` does not.
fn stands_alone(summary: &str) -> bool {
    let mut words = summary.split_whitespace();
    let first = words.next().unwrap_or_default();
    let verb = first.starts_with(|c: char| c.is_ascii_uppercase()) && !first.ends_with('s');
    verb && !NO_VERBS.contains(&first) && words.next().is_some() && !summary.ends_with('.')
}

#[test]
fn a_summary_stands_alone_when_it_starts_with_a_verb() {
    assert!(stands_alone("Pause a pool") && stands_alone("List API keys"));
    for summary in
        ["", "Pause", "Its jobs wait.", "Makes a job", "pause a pool", "The message", "Pause a pool."]
    {
        assert!(!stands_alone(summary), "{summary}");
    }
}

#[test]
fn every_operation_has_a_summary_of_its_own_that_stands_alone() {
    let document = whole();
    let mut seen = BTreeSet::new();
    for (name, operation) in operations(&document) {
        let summary = text(operation, "summary");
        assert!(stands_alone(summary), "{name}: {summary:?}");
        assert!(seen.insert(summary), "{name}: {summary:?} is the summary of another operation too");
        assert!(text(operation, "description").ends_with('.'), "{name} has no description");
    }
}

#[test]
fn every_body_has_an_example_that_fits_its_schema() {
    let document = whole();
    for (name, operation) in operations(&document) {
        let responses = operation["responses"].as_object().expect("responses").iter();
        let bodies = responses.map(|(status, response)| (status.as_str(), &response["content"]));
        let bodies = bodies.chain([("request", &operation["requestBody"]["content"])]);
        let mut found = 0;
        for (which, content) in bodies {
            for (media_type, body) in content.as_object().into_iter().flatten() {
                let at = format!("{name}: {which} as {media_type}");
                assert!(!body["example"].is_null(), "{at} has no example");
                fits(&document, &body["schema"], &body["example"])
                    .unwrap_or_else(|error| panic!("{at}: {error}"));
                found += 1;
            }
        }
        assert!(found > 0, "{name}");
    }
}

fn fits(document: &Value, schema: &Value, example: &Value) -> Result<(), String> {
    let schema = json!({ "allOf": [schema], "components": document["components"] });
    let validator = jsonschema::validator_for(&schema).map_err(|error| error.to_string())?;
    validator.validate(example).map_err(|error| format!("{error} at {}", error.instance_path()))
}

#[test]
fn every_parameter_has_a_description() {
    let document = whole();
    for (name, operation) in operations(&document) {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let described = text(parameter, "description");
            assert!(described.split_whitespace().count() > 1, "{name}: {}", parameter["name"]);
            let optional = parameter["in"] == "query" && parameter["required"] != true;
            assert!(!optional || described.contains("Default: "), "{name}: {}", parameter["name"]);
        }
    }
}

#[test]
fn every_member_has_a_description_with_its_unit() {
    let document = whole();
    let mut missing = Vec::new();
    for (name, schema) in document["components"]["schemas"].as_object().expect("schemas") {
        each_member(name, schema, &mut |at, described, _| {
            let sentence = described.ends_with(['.', '…']) && described.split_whitespace().count() > 1;
            let unit = [("Seconds", "econds"), ("Millis", "milliseconds"), ("PerMinute", "per minute")];
            let unit = unit.iter().find(|(suffix, _)| at.ends_with(suffix));
            if !sentence || unit.is_some_and(|(_, unit)| !described.contains(unit)) {
                missing.push(format!("{at}: {described:?}"));
            }
        });
        if !name.starts_with("Page_") && text(schema, "description").is_empty() {
            missing.push(format!("{name}: the schema itself"));
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Every optional member of a request has a default, and its description names it.
#[test]
fn every_optional_member_of_a_request_names_its_default() {
    let document = whole();
    let schemas = document["components"]["schemas"].as_object().expect("schemas");
    let mut sent = BTreeSet::new();
    for (_, operation) in operations(&document) {
        referenced(&operation["requestBody"], schemas, &mut sent);
    }
    assert!(sent.contains("NewJob") && sent.contains("MetadataEntry"), "{sent:?}");
    let mut missing = Vec::new();
    for name in sent {
        each_member(name, &schemas[name], &mut |at, described, required| {
            if !required && !described.contains("Default:") {
                missing.push(format!("{at}: {described:?}"));
            }
        });
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

/// Adds the names of the schemas that a value refers to, and of those that these refer to.
fn referenced<'a>(
    value: &'a Value,
    schemas: &'a serde_json::Map<String, Value>,
    names: &mut BTreeSet<&'a str>,
) {
    match value {
        Value::Object(members) => {
            if let Some(name) = members.get("$ref").and_then(|at| at.as_str()?.rsplit('/').next())
                && names.insert(name)
            {
                referenced(&schemas[name], schemas, names);
            }
            members.values().for_each(|value| referenced(value, schemas, names));
        }
        Value::Array(items) => items.iter().for_each(|value| referenced(value, schemas, names)),
        _ => {}
    }
}

/// Calls `seen` with the path, the description and whether it is required, for each member of a schema.
fn each_member(at: &str, schema: &Value, seen: &mut dyn FnMut(&str, &str, bool)) {
    for (member, value) in schema["properties"].as_object().into_iter().flatten() {
        let required = schema["required"].as_array().is_some_and(|all| all.iter().any(|one| one == member));
        let at = format!("{at}.{member}");
        seen(&at, text(value, "description"), required);
        each_member(&at, value, seen);
    }
    for part in schema["allOf"].as_array().into_iter().flatten() {
        each_member(at, part, seen);
    }
    if schema["items"].is_object() {
        each_member(&format!("{at}[]"), &schema["items"], seen);
    }
}
