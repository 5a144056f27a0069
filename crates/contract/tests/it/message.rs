//! Tests of message values: what they read, and the mistakes in them.

use std::collections::BTreeSet;

use postrider_contract::{Contract, Layer};

use crate::broken;

/// The `outbox` contract with this topic.
fn outbox(topic: &str) -> Result<Contract, postrider_config::Mistakes> {
    let text = Contract::builtin("outbox").unwrap().replacen("\"topic\"", topic, 1);
    Contract::parse("c.toml", &text)
}

fn columns(contract: &Contract) -> Vec<(String, String)> {
    let own = ["key", "payload", "dedupe", "headers.deal_id", "traceparent"];
    contract.message_columns().into_iter().filter(|(field, _)| !own.contains(&field.as_str())).collect()
}

#[test]
fn a_value_reads_each_of_its_columns_once() {
    for (topic, read) in [
        ("{ text = \"orders\" }", &[][..]),
        ("{ text = \"{a}.{b.c|lower}.{a}.{payload.d}\" }", &["a", "b"]),
        ("{ map = \"kind\", x = \"{a}\", else = \"{b}\" }", &["a", "b", "kind"]),
        ("\"meta.topic\"", &["meta"]),
        ("{ json = \"meta\", member = \"a.b\" }", &["meta"]),
    ] {
        let contract = outbox(topic).unwrap_or_else(|mistakes| panic!("{mistakes}"));
        let expected: Vec<(String, String)> =
            read.iter().map(|name| (format!("${name}"), (*name).to_owned())).collect();
        assert_eq!(columns(&contract), expected, "{topic}");
    }
}

#[test]
fn an_optional_column_that_is_absent_is_not_read() {
    let contract = outbox("{ text = \"{a}.{b?|default:'x'}\" }").unwrap();
    let mut present: BTreeSet<String> =
        contract.message_columns().into_iter().map(|(_, column)| column).collect();
    present.extend(contract.columns.0.values().map(|column| column.name.clone()));
    present.extend(["id".to_owned(), "deal_id".to_owned()]);
    assert!(present.remove("b"));
    let resolved = contract.resolve(&present).unwrap();
    assert_eq!(columns(&resolved), [("$a".to_owned(), "a".to_owned())]);
    present.remove("a");
    let missing = contract.resolve(&present).unwrap_err();
    assert_eq!(missing.len(), 1);
    assert_eq!(missing[0].needed_by, "message.topic");
}

#[test]
fn g04_a_template_follows_a_renamed_column() {
    let text = Contract::builtin("outbox").unwrap().replacen("\"topic\"", "{ text = \"{created_at}\" }", 1);
    let layer = Layer::new("p.toml", "lanes.x", "columns.created = \"born\"".parse().unwrap());
    let contract = Contract::parse_with("c.toml", &text, &[layer]).unwrap();
    assert_eq!(columns(&contract), [("$born".to_owned(), "born".to_owned())]);
    let layer = Layer::new("p.toml", "lanes.x", "message.topic = { text = \"a.{b}\" }".parse().unwrap());
    let contract = Contract::parse_with("c.toml", Contract::builtin("outbox").unwrap(), &[layer]).unwrap();
    assert_eq!(columns(&contract), [("$b".to_owned(), "b".to_owned())], "a constant replaces a column");
}

#[test]
fn every_mistake_has_its_place_and_a_remedy() {
    for (value, key, part) in [
        ("{ text = \"a.{b\" }", "message.topic.text", "`{b` is not closed; add `}`"),
        ("{ text = \"a.b}\" }", "message.topic.text", "`}` without `{`; write `}}`"),
        ("{ text = \"{}\" }", "message.topic.text", "\"\" does not name a column"),
        ("{ text = \"{a..b}\" }", "message.topic.text", "does not name a column"),
        ("{ text = \"{a b}\" }", "message.topic.text", "can't be in a name"),
        ("{ text = \"{a|lowr}\" }", "message.topic.text", "unknown filter `lowr`; did you mean `lower`?"),
        ("{ text = \"{a|replace:'x'}\" }", "message.topic.text", "write `|replace:'a':'b'`"),
        ("{ text = \"{a|default:x}\" }", "message.topic.text", "is not in single quotes"),
        ("{ text = 7 }", "message.topic.text", "text in quotes, also for a number"),
        ("{ text = \"a\", map = \"b\" }", "message.topic", "must have one of `text`, `json` and `map`"),
        ("{ text = \"a\", txt = \"b\" }", "message.topic.txt", "unknown key"),
        ("{ json = \"a\" }", "message.topic.member", "is required"),
        ("{ map = \"a\" }", "message.topic", "has no value"),
        ("{ map = \"a\", x = \"{b\" }", "message.topic.x", "is not closed"),
        ("{ text = \"{a?}\" }", "message.topic", "a may be absent, and then every row"),
        ("{ map = \"a?\", x = \"y\" }", "message.topic.map", "a may be absent, and the map has no value"),
        ("\"a.\"", "message.topic", "does not name a column"),
    ] {
        let found = broken("outbox", "\"topic\"", value);
        assert_eq!(found.len(), 1, "{value}: {found:?}");
        assert_eq!(found[0].key, key, "{value}");
        assert!(found[0].to_string().contains(part), "{value}: {}", found[0]);
        let line = |mistake: &postrider_config::Mistake| mistake.place.position.map(|(line, _)| line);
        assert_eq!(line(&found[0]), line(&broken("outbox", "\"topic\"", "7")[0]), "{value}");
    }
}

#[test]
fn a_join_is_named_with_a_column_that_it_reads() {
    let join = "[[join]]\nas = \"customer\"\ntable = \"customers\"\non = { id = \"row.deal_id\" }\ncolumns = \"name?\"\n[[stage]]";
    let with = |topic: &str| {
        let text = Contract::builtin("outbox").unwrap().replacen("[[stage]]", join, 1);
        Contract::parse("c.toml", &text.replacen("\"topic\"", topic, 1))
    };
    assert_eq!(columns(&with("\"customer.name\"").unwrap()), []);
    for (topic, part) in [
        ("\"customer.nam\"", "the join `customer` does not read the column `nam`; did you mean `name`?"),
        ("{ text = \"{customer}\" }", "`customer` is a join, and has several columns"),
        ("{ text = \"{customer.name}\" }", "customer.name may be absent"),
    ] {
        let mistakes = with(topic).unwrap_err().to_string();
        assert!(mistakes.contains(part), "{topic}: {mistakes}");
    }
}

#[test]
fn a_join_of_several_rows_is_one_value() {
    let with = |more: &str, topic: &str| {
        let join = "[[join]]\nas = \"items\"\ntable = \"items\"\non = { order_id = \"row.deal_id\" }\n\
                    columns = { name = \"title\" }\n";
        let text =
            Contract::builtin("outbox").unwrap().replacen("[[stage]]", &format!("{join}{more}[[stage]]"), 1);
        Contract::parse("c.toml", &text.replacen("\"topic\"", topic, 1))
    };
    let contract = with("many = 5\norder = \"place\"\n", "\"items\"").unwrap();
    assert_eq!(columns(&contract), [], "no column of the row");
    let next =
        "[[join]]\nas = \"maker\"\ntable = \"makers\"\non = { id = \"items.maker\" }\ncolumns = \"name\"\n";
    for (more, topic, part) in [
        ("many = 5\n", "\"items.name\"", "`items` is a join of several rows, which have no single value"),
        ("many = 0\n", "\"topic\"", "expected a whole number from 1 to 1000"),
        ("order = \"place\"\n", "\"topic\"", "has no effect without `many`; add many = 100"),
        (&format!("many = 5\n{next}"), "\"topic\"", "no join above is named `items`"),
    ] {
        let mistakes = with(more, topic).unwrap_err().to_string();
        assert!(mistakes.contains(part), "{more}: {mistakes}");
    }
    assert!(with("", "\"items.name\"").is_ok(), "the name of the column in the join");
}
