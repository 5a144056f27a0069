//! Applies environment variables: `POSTRIDER__LANES__MAIL__CONCURRENCY=8` sets `lanes.mail.concurrency = 8`.

use postrider_config::{Node, Place, Value};

const PREFIX: &str = "POSTRIDER__";

/// Whether this variable may select other tables than the built-in settings do.
pub fn concerns_tables(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|path| {
        !["TRANSPORTS__", "SERVER__", "TELEMETRY__"].iter().any(|harmless| path.starts_with(harmless))
    })
}

/// Inserts the variables with our prefix into the tree; they override the file.
pub fn overlay(tree: &mut Node, variables: &[(String, String)]) {
    for (name, value) in variables {
        let Some(path) = name.strip_prefix(PREFIX) else { continue };
        let keys = keys(tree, path.split("__").filter(|segment| !segment.is_empty()));
        if !keys.is_empty() {
            let path: Vec<&str> = keys.iter().map(String::as_str).collect();
            tree.set_at(&path, &Place::new(name.as_str()), Value::Untyped(value.clone()));
        }
    }
}

/// Finds the key of each segment, ignoring case and with `-` equal to `_`, as variables can spell neither. A segment
/// without a key becomes a new one, in small letters.
fn keys<'a>(tree: &Node, segments: impl Iterator<Item = &'a str>) -> Vec<String> {
    let folded = |key: &str| key.to_uppercase().replace('-', "_");
    let mut table = Some(tree);
    let key_of = |segment: &str| {
        let entries = table.map(Node::entries).unwrap_or_default();
        let entry = entries.iter().find(|entry| folded(&entry.key) == folded(segment));
        table = entry.map(|entry| &entry.node);
        entry.map_or_else(|| segment.to_lowercase(), |entry| entry.key.clone())
    };
    segments.map(key_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_variable_wins_over_the_file_and_finds_its_key_in_any_case() {
        let mut tree = postrider_config::parse("p.toml", "[lanes.Mail-Out]\nbatch = 5\n").unwrap();
        let variables = [
            ("POSTRIDER__LANES__MAIL_OUT__BATCH".to_owned(), "9".to_owned()),
            ("POSTRIDER__STORES__MAIN__URL".to_owned(), "sqlite:x.db".to_owned()),
            ("POSTRIDER__".to_owned(), "names no key".to_owned()),
            ("POSTRIDER_CONFIG".to_owned(), "not a setting".to_owned()),
        ];
        overlay(&mut tree, &variables);
        let batch = tree.at(&["lanes", "Mail-Out", "batch"]).unwrap();
        assert_eq!(batch.value, Value::Untyped("9".to_owned()));
        assert_eq!(batch.place.to_string(), "POSTRIDER__LANES__MAIL_OUT__BATCH");
        let url = tree.at(&["stores", "main", "url"]).unwrap();
        assert_eq!(url.value, Value::Untyped("sqlite:x.db".to_owned()));
        assert_eq!(tree.entries().len(), 2);
    }
}
