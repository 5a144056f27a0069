//! Applies environment variables: `POSTRIDER__LANES__MAIL__CONCURRENCY=8` sets `lanes.mail.concurrency = 8`.

use super::mistake::Place;
use super::tree::{Entry, Tree, Value};

const PREFIX: &str = "POSTRIDER__";

/// Whether this variable may select other tables than the built-in settings do.
pub fn concerns_tables(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|path| {
        !["TRANSPORTS__", "SERVER__", "TELEMETRY__"].iter().any(|harmless| path.starts_with(harmless))
    })
}

/// Inserts the variables with our prefix into the tree; they override the file.
pub fn overlay(tree: &mut Tree, variables: &[(String, String)]) {
    for (name, value) in variables {
        if let Some(path) = name.strip_prefix(PREFIX) {
            let segments: Vec<&str> = path.split("__").filter(|segment| !segment.is_empty()).collect();
            put(tree, &segments, name, value);
        }
    }
}

fn put(tree: &mut Tree, segments: &[&str], name: &str, value: &str) {
    let Some((first, rest)) = segments.split_first() else { return };
    let key = existing(tree, first).unwrap_or_else(|| first.to_lowercase());
    let place = Place::Variable(name.to_owned());
    if rest.is_empty() {
        tree.insert(key, Entry { place, value: Value::Untyped(value.to_owned()) });
        return;
    }
    let entry =
        tree.entry(key).or_insert_with(|| Entry { place: place.clone(), value: Value::Table(Tree::new()) });
    if !matches!(entry.value, Value::Table(_)) {
        *entry = Entry { place, value: Value::Table(Tree::new()) };
    }
    if let Value::Table(inner) = &mut entry.value {
        put(inner, rest, name, value);
    }
}

/// Finds an existing key, ignoring case and with `-` equal to `_`, as variables can spell neither.
fn existing(tree: &Tree, segment: &str) -> Option<String> {
    let folded = |key: &str| key.to_uppercase().replace('-', "_");
    tree.keys().find(|key| folded(key) == folded(segment)).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tree;

    #[test]
    fn a_variable_wins_over_the_file_and_finds_its_key_in_any_case() {
        let mut tree = tree::parse("[lanes.Mail-Out]\nbatch = 5\n", None).unwrap();
        let variables = [
            ("POSTRIDER__LANES__MAIL_OUT__BATCH".to_owned(), "9".to_owned()),
            ("POSTRIDER__STORES__MAIN__URL".to_owned(), "sqlite:x.db".to_owned()),
            ("POSTRIDER_CONFIG".to_owned(), "not a setting".to_owned()),
        ];
        overlay(&mut tree, &variables);
        let written = toml::to_string(&tree::to_toml(&tree)).unwrap();
        assert_eq!(written, "[lanes.Mail-Out]\nbatch = 9\n\n[stores.main]\nurl = \"sqlite:x.db\"\n");
    }
}
