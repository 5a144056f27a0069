//! Reads the mails that the relay accepted from its journal.

use std::collections::BTreeMap;
use std::path::Path;

/// One accepted mail.
#[derive(Debug, Clone)]
pub struct Entry {
    pub to: Vec<String>,
    pub message_id: String,
    pub subject: String,
}

/// Every accepted mail, in order.
pub fn read(path: &Path) -> Vec<Entry> {
    let text = std::fs::read_to_string(path).expect("the relay's journal is there");
    text.lines().map(entry).collect()
}

fn entry(line: &str) -> Entry {
    let line: serde_json::Value = serde_json::from_str(line).expect("a journal line is JSON");
    let text = |key: &str| line[key].as_str().unwrap_or_default().to_owned();
    let to = line["to"].as_array().into_iter().flatten();
    Entry {
        to: to.filter_map(|one| one.as_str().map(str::to_owned)).collect(),
        message_id: text("message_id"),
        subject: text("subject"),
    }
}

/// Groups the mails by subject.
pub fn by_subject(entries: &[Entry]) -> BTreeMap<&str, Vec<&Entry>> {
    let mut mails: BTreeMap<&str, Vec<&Entry>> = BTreeMap::new();
    for entry in entries {
        mails.entry(&entry.subject).or_default().push(entry);
    }
    mails
}
