use super::*;
use crate::node::parse;

/// Reads a document and returns its mistakes, one per line.
fn mistakes(text: &str, read: impl FnOnce(&TableReader<'_>)) -> String {
    let root = parse("p.toml", text).unwrap();
    let report = Report::new(&root);
    let reader = TableReader::root(&report, &root);
    read(&reader);
    reader.finish();
    report.finish().err().map(|mistakes| mistakes.to_string()).unwrap_or_default()
}

#[test]
fn every_mistake_has_its_place_its_key_and_a_suggestion() {
    let text = "[lane]\nbatch = 0\nconcurency = 4\npoll = \"soon\"\nkind = \"rekord\"\n";
    let found = mistakes(text, |reader| {
        let lane = reader.table("lane").unwrap();
        lane.get("batch").and_then(|item| item.number(1..=1000));
        lane.get("concurrency").and_then(|item| item.number(1..=1000));
        let seconds = Duration::from_secs;
        lane.get("poll").and_then(|item| item.duration(seconds(1)..=seconds(60)));
        lane.get("kind").and_then(|item| item.choice(&[("record", 1), ("mail", 2)]));
        lane.required("store", "write store = \"NAME\"");
        lane.finish();
    });
    assert_eq!(
        found,
        "p.toml:1:2: lane.store: is required; write store = \"NAME\"\n\
         p.toml:2:9: lane.batch: invalid value `0`: expected a whole number from 1 to 1000\n\
         p.toml:3:1: lane.concurency: unknown key; did you mean `concurrency`?\n\
         p.toml:4:8: lane.poll: invalid value \"soon\": expected a duration from 1s to 1m, such as \"30s\"; a duration is a \
         whole number and a unit, such as \"500ms\", \"30s\", \"5m\", \"1h\" or \"7d\", or an ISO 8601 duration such as \
         \"PT0.5S\"\n\
         p.toml:5:8: lane.kind: invalid value \"rekord\"; did you mean `record`?"
    );
}

#[test]
fn each_type_is_read() {
    let text = "a = \"x\"\nb = true\nc = 7\nd = 0.5\ne = \"90s\"\nf = \"2KB\"\ng = 4096\nh = 1\ni = [1, 2]\n";
    let found = mistakes(text, |reader| {
        let item = |key| reader.get(key).unwrap();
        assert_eq!(item("a").text(), Some("x"));
        assert!(item("a").is("x") && !item("a").is("y") && !item("c").is("7"));
        assert_eq!(item("b").boolean(), Some(true));
        assert_eq!(item("c").number(1..=u32::MAX), Some(7));
        assert_eq!(item("d").fraction(0.0..=1.0), Some(0.5));
        assert_eq!(item("h").fraction(0.0..=1.0), Some(1.0), "a whole number is a number");
        assert_eq!(item("e").duration(Duration::ZERO..=Duration::MAX), Some(Duration::from_secs(90)));
        assert_eq!((item("f").size(0..=1 << 20), item("g").size(0..=1 << 20)), (Some(2048), Some(4096)));
        assert_eq!(item("d").scalar().as_deref(), Some("0.5"));
        assert_eq!(item("i").list().map(|items| items.len()), Some(2));
        assert_eq!((item("i").one_or_many().len(), item("a").one_or_many().len()), (2, 1));
    });
    assert_eq!(found, "");
}

#[test]
fn a_value_of_another_type_is_a_mistake() {
    let text = "a = 1\nb = \"true\"\nc = \"5\"\nd = \"much\"\ne = 30\nf = \"many\"\ng = 1\nh = [1]\ni = 1\n";
    let found = mistakes(text, |reader| {
        let item = |key| reader.get(key).unwrap();
        assert_eq!(item("a").text(), None);
        assert_eq!(item("b").boolean(), None);
        assert_eq!(item("c").number(1..=u32::MAX), None);
        assert_eq!(item("d").fraction(0.0..=1.0), None);
        assert_eq!(item("e").duration(Duration::ZERO..=Duration::MAX), None);
        assert_eq!(item("f").size(1..=1 << 20), None);
        assert!(item("g").table().is_none());
        assert_eq!(item("h").scalar(), None);
        assert!(item("i").list().is_none());
    });
    let expected = [
        "p.toml:1:5: a: invalid value `1`: expected text in quotes",
        "p.toml:2:5: b: invalid value \"true\": expected true or false",
        "p.toml:3:5: c: invalid value \"5\": expected a whole number of at least 1",
        "p.toml:4:5: d: invalid value \"much\": expected a number from 0 to 1",
        "p.toml:5:5: e: invalid value `30`: a duration needs a unit; write \"30s\" for seconds",
        "p.toml:6:5: f: invalid value \"many\": expected a size from 1 to 1MB, such as \"25MB\"",
        "p.toml:7:5: g: invalid value `1`: expected a table, `[g]`",
        "p.toml:8:5: h: expected a single value, found a list",
        "p.toml:9:5: i: invalid value `1`: expected a list",
    ];
    assert_eq!(found, expected.join("\n"));
}

#[test]
fn a_variable_is_read_as_the_type_of_its_key() {
    let mut root = Node::table(Place::new("p.toml"));
    for (key, text) in [("a", "8"), ("b", " true"), ("c", "0.5"), ("d", "5m"), ("e", "lots")] {
        root.set_at(&[key], &Place::new("VARIABLE"), Value::Untyped(text.to_owned()));
    }
    let report = Report::new(&root);
    let reader = TableReader::root(&report, &root);
    let item = |key| reader.get(key).unwrap();
    assert_eq!((item("a").number(1..=9), item("b").boolean()), (Some(8), Some(true)));
    assert_eq!(item("c").fraction(0.0..=1.0), Some(0.5));
    assert_eq!(item("d").duration(Duration::ZERO..=Duration::MAX), Some(Duration::from_mins(5)));
    assert_eq!(item("e").number(1..=9), None);
    assert_eq!(report.keys_read().len(), 5);
    assert!(report.has_mistake_at("e"));
    let mistakes = report.finish().unwrap_err().to_string();
    assert_eq!(mistakes, "VARIABLE: e: invalid value `lots`: expected a whole number from 1 to 9");
}

#[test]
fn a_mistake_in_a_layer_has_the_name_that_its_author_knows() {
    let mut root = parse("base.toml", "[retry]\nbase = \"1s\"\n").unwrap();
    root.merge(&parse("over.toml", "retry.jitter = 7\nretry.jiter = 1").unwrap(), 1);
    let report = Report::with_layers(&root, vec!["lanes.mail".to_owned()]);
    let retry = TableReader::root(&report, &root).table("retry").unwrap();
    retry.get("jitter").and_then(|item| item.fraction(0.0..=1.0));
    retry.get("base");
    retry.finish();
    report.add_for_key("retry.cap", "is too short", "raise it");
    assert!(report.has_key("retry.base") && !report.has_key("retry.cap"));
    assert_eq!(report.outermost(&["retry.base".to_owned(), "retry.jitter".to_owned()]), "retry.jitter");
    assert_eq!(
        report.finish().unwrap_err().to_string(),
        "base.toml:1:2: retry.cap: is too short; raise it\n\
         over.toml:1:16: lanes.mail.retry.jitter: invalid value `7`: expected a number from 0 to 1\n\
         over.toml:2:7: lanes.mail.retry.jiter: unknown key; did you mean `jitter`?"
    );
}
