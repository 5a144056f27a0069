use super::*;

fn position(node: &Node, path: &[&str]) -> (usize, usize) {
    node.at(path).and_then(|node| node.place.position).expect("the key is there")
}

#[test]
fn every_value_has_its_line_and_column() {
    let text = "a = 1\n['tä'.b]\nc = [\"x\",\n  \"ü\", 2.5]\n[[d]]\nname = 'one'\ne.f = true\n";
    let root = parse("p.toml", text).unwrap();
    assert_eq!(position(&root, &["a"]), (1, 5));
    assert_eq!(position(&root, &["tä", "b"]), (2, 7), "a table is where its key is");
    let Value::List(items) = &root.at(&["tä", "b", "c"]).unwrap().value else { panic!("a list") };
    let positions: Vec<_> = items.iter().filter_map(|item| item.place.position).collect();
    assert_eq!(positions, [(3, 6), (4, 3), (4, 8)], "columns count characters");
    assert_eq!(root.entry("a").unwrap().place.to_string(), "p.toml:1:1");
    let keys: Vec<&str> = root.entries().iter().map(|entry| entry.key.as_str()).collect();
    assert_eq!(keys, ["a", "tä", "d"], "in the order of the document");
}

#[test]
fn every_syntax_error_is_reported_with_its_place() {
    let mistakes = parse("p.toml", "a = \nb = 1\n[c\n").unwrap_err();
    let lines: Vec<_> =
        mistakes.iter().filter_map(|mistake| mistake.place.position).map(|(line, _)| line).collect();
    assert_eq!(lines, [1, 3]);
    assert!(mistakes.to_string().starts_with("p.toml:1:"), "{mistakes}");
    assert!(mistakes.iter().all(|mistake| mistake.what.starts_with("not TOML: ")), "{mistakes}");
}

#[test]
fn numbers_out_of_range_and_times_are_kept_as_text() {
    let root = parse("p.toml", "a = 99999999999999999999\nb = 1979-05-27\n").unwrap();
    assert_eq!(root.at(&["a"]).unwrap().value.kind(), "a number out of range");
    assert_eq!(root.at(&["b"]).unwrap().value.kind(), "a date or time");
}

#[test]
fn a_layer_wins_and_its_values_keep_their_places() {
    let mut root = parse("base.toml", "a = 1\n[t]\nb = 2\nc = [1]\n[[s]]\nname = 'x'\nd = 3\n").unwrap();
    let over = parse("over.toml", "a = 10\nt.c = 'text'\nt.e = { f = 1 }\ns.x.d = 30\ns.y.d = 40\n").unwrap();
    root.merge(&over, 1);
    let found = |path: &[&str]| {
        let node = root.at(path).expect("the key is there");
        (node.value.clone(), node.place.to_string(), node.layer)
    };
    assert_eq!(found(&["a"]), (Value::Integer(10), "over.toml:1:5".to_owned(), 1));
    assert_eq!(found(&["t", "b"]), (Value::Integer(2), "base.toml:3:5".to_owned(), 0));
    assert_eq!(found(&["t", "c"]), (Value::Text("text".to_owned()), "over.toml:2:7".to_owned(), 1));
    assert_eq!(found(&["t", "e", "f"]).2, 1, "all of a new table is of the layer");
    let Value::List(items) = &root.at(&["s"]).unwrap().value else { panic!("a list") };
    let named: Vec<_> =
        items.iter().map(|item| (item.name(), item.at(&["d"]).map(|node| node.layer))).collect();
    assert_eq!(named, [(Some("x"), Some(1)), (Some("y"), Some(1))], "elements are found by name, or added");
}

#[test]
fn a_variable_gets_the_type_that_it_has_in_toml() {
    let mut root = Node::table(Place::new("p.toml"));
    for (key, text) in [("a", "5"), ("b", "[\"x\"]"), ("c", "free text"), ("d", "true")] {
        root.set_at(&[key], &Place::new("VARIABLE"), Value::Untyped(text.to_owned()));
    }
    let root = root.typed();
    let kinds: Vec<&str> = root.entries().iter().map(|entry| entry.node.value.kind()).collect();
    assert_eq!(kinds, ["a whole number", "a list", "text", "true or false"]);
    assert!(root.entries().iter().all(|entry| entry.node.place.to_string() == "VARIABLE"));
}

#[test]
fn a_value_is_set_once_and_tables_are_added_on_its_way() {
    let mut root = parse("p.toml", "a = 1\n[b]\nc = 2\n").unwrap();
    for (path, value) in [(["a", "x"], 3), (["b", "c"], 4), (["b", "c"], 5), (["d", "e"], 6)] {
        root.set_at(&path, &Place::new("VARIABLE"), Value::Integer(value));
    }
    let found = [["a", "x"], ["b", "c"], ["d", "e"]].map(|path| root.at(&path).unwrap().clone());
    assert_eq!(found.clone().map(|node| node.value), [3, 5, 6].map(Value::Integer));
    assert!(found.iter().all(|node| node.place == Place::new("VARIABLE")));
    assert_eq!(root.entry("b").unwrap().place.to_string(), "p.toml:2:2", "the table stays where it is");
}
