use serde_json::json;

use super::*;

const MOST: u64 = 2_000_000;

/// Each level refers to the one below it twice.
fn doubling(keyword: &str, levels: usize) -> Value {
    let mut definitions = Map::new();
    definitions.insert("a0".to_owned(), json!({"type": "string"}));
    for level in 1..=levels {
        let below = json!({"$ref": format!("#/$defs/a{}", level - 1)});
        definitions.insert(format!("a{level}"), json!({keyword: [below, below]}));
    }
    json!({"$defs": definitions, "$ref": format!("#/$defs/a{levels}")})
}

#[test]
fn nested_references_are_counted_in_full() {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        assert!(Cost::new(&doubling(keyword, 8)).expect("small").of(&json!(1), MOST).is_some());
        let large = Cost::new(&doubling(keyword, 24)).expect("few nodes");
        assert_eq!(large.of(&json!(1), MOST), None, "{keyword}: 2^24 evaluations");
        assert_eq!(large.of(&json!({"a": [1]}), MOST), None, "{keyword}");
    }
}

#[test]
fn doubling_at_each_level_of_the_payload_is_counted() {
    let schema =
        json!({"allOf": [{"properties": {"x": {"$ref": "#"}}}, {"properties": {"x": {"$ref": "#"}}}]});
    let cost = Cost::new(&schema).expect("it consumes the payload");
    let deep = |levels: usize| (0..levels).fold(json!(1), |inner, _| json!({ "x": inner }));
    assert!(cost.of(&deep(10), MOST).is_some());
    assert_eq!(cost.of(&deep(60), MOST), None);
}

#[test]
fn a_usual_schema_costs_little() {
    let schema = json!({"$id": "https://example.com/order", "type": "object", "required": ["id"],
        "properties": {"id": {"type": "string", "pattern": "^[A-Z]+$"},
            "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}}, "parent": {"$ref": "https://example.com/order#"}},
        "$defs": {"line": {"$anchor": "line", "properties": {"sku": {"type": "string"}, "next": {"$ref": "#line"}}}}});
    let cost = Cost::new(&schema).expect("a usual schema");
    let lines: Vec<Value> = (0..10_000).map(|number| json!({"sku": format!("s-{number}")})).collect();
    let payload = json!({"id": "A", "lines": lines, "parent": {"id": "B"}});
    assert!(cost.of(&payload, MOST).is_some_and(|cost| cost < 200_000));
}

#[test]
fn schemas_beyond_the_limits_are_refused() {
    let deep = (0..100).fold(json!({}), |inner, _| json!({ "not": inner }));
    let wide: Vec<Value> = vec![json!({}); 1_001];
    let chained: Map<String, Value> =
        (0..400).map(|at| (format!("a{at}"), json!({"$ref": format!("#/$defs/a{}", at + 1)}))).collect();
    for (schema, why) in [
        (json!({"$ref": "#"}), "refers back to itself"),
        (json!({"anyOf": [{"$ref": "#"}]}), "refers back to itself"),
        (json!({"$ref": "https://example.com/other"}), "references must stay within"),
        (json!({"$ref": "#/$defs/none"}), "references must stay within"),
        (json!({"properties": {"a": {"$id": "other"}}}), "$id"),
        (json!({"pattern": "a".repeat(1_001)}), "regular expression"),
        (deep, "levels"),
        (json!({ "anyOf": wide }), "entries"),
        (json!({"$defs": chained, "$ref": "#/$defs/a0"}), "refer to each other"),
    ] {
        let error = Cost::new(&schema).expect_err("refused");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn patterns_of_names_are_counted_for_each_name() {
    let names: Map<String, Value> = (0..10_000).map(|number| (format!("n{number}"), json!(1))).collect();
    let payload = Value::Object(names);
    let schema = |pattern: &dyn Fn(usize) -> String, count: usize| {
        let patterns: Map<String, Value> = (0..count).map(|number| (pattern(number), json!(true))).collect();
        json!({"patternProperties": patterns})
    };
    let cost = |schema: &Value| Cost::new(schema).expect("within the limits").of(&payload, u64::MAX);
    let look = |number: usize| format!("^(?=n)(a|aa)+{number}$");
    let most = Cost::new(&schema(&look, 200)).expect("within the limits").of(&payload, MOST);
    assert_eq!(most, None, "200 patterns that backtrack, on 10,000 names");
    let plain = schema(&|number| format!("^x{number}$"), 200);
    assert!(cost(&plain) >= Some(200 * 10_000 * 2), "each pattern is compared with each name");
    let mut with_rest = plain.clone();
    with_rest["additionalProperties"] = json!(true);
    assert!(cost(&with_rest) >= Some(2 * 200 * 10_000 * 2), "and again for what is left");
    assert!(cost(&schema(&|_| "^x".to_owned(), 1)) < Some(MOST), "one pattern is cheap");
}
