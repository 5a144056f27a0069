//! The list of all settings keys (`keys.txt`): type, default and meaning of each.
//!
//! Owns: the output of `postrider settings`, the options that transports accept next to their URL, and the keys that
//! docs/reference/settings.md is compared with. Must not: read settings. Invariant: every key that a reader reads is
//! listed, and every listed key is read; tests check both.

#[cfg(test)]
mod effects;
#[cfg(test)]
mod tests;

use std::fmt::Write as _;

use serde::Serialize;

const TEXT: &str = include_str!("keys.txt");

/// One settings key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Key {
    pub name: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// An example value in TOML.
    pub example: &'static str,
    pub default: &'static str,
    pub meaning: &'static str,
    /// Whether the printed file sets the key; otherwise its line is commented out.
    #[serde(skip)]
    live: bool,
}

/// A table with some of its keys; a table with several purposes has a section for each.
#[derive(Debug, Clone)]
pub struct Section {
    /// The header in TOML: `[stores.main]`.
    pub header: &'static str,
    pub about: &'static str,
    pub keys: Vec<Key>,
}

impl Section {
    /// The header without its brackets: `stores.main`.
    pub fn table(&self) -> &'static str {
        self.header.trim_matches(['[', ']'])
    }

    /// The path of the table, with NAME where users choose a name: `stores.NAME`.
    pub fn path(&self) -> String {
        general(self.table())
    }
}

/// Parses all sections, in the order of the file.
pub fn sections() -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    for line in TEXT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if line.starts_with('[') {
            let (header, about) = line.split_once(' ').unwrap_or((line, ""));
            sections.push(Section { header, about, keys: Vec::new() });
        } else if let (Some(section), Some(key)) = (sections.last_mut(), Key::read(line)) {
            section.keys.push(key);
        }
    }
    sections
}

impl Key {
    fn read(line: &'static str) -> Option<Self> {
        let (mark, rest) = line.split_at_checked(2)?;
        let mut parts = rest.splitn(5, " | ");
        Some(Self {
            name: parts.next()?,
            kind: parts.next()?,
            example: parts.next()?,
            default: parts.next()?,
            meaning: parts.next()?,
            live: mark == "* ",
        })
    }
}

fn general(path: &str) -> String {
    let mut parts: Vec<&str> = path.split('.').collect();
    if parts.len() > 1 && ["stores", "transports", "queues", "lanes"].contains(&parts[0]) {
        parts[1] = "NAME";
    }
    parts.join(".")
}

/// Keys of `[transports.NAME]` that the settings read, not the transport.
const BY_THEMSELVES: [&str; 10] =
    ["url", "user", "password", "key", "senders", "rates", "waits", "jitter", "cool_down", "patience"];

/// The options that a transport's table accepts next to its URL; the transport interprets them.
pub fn transport_options() -> Vec<&'static str> {
    let sections = sections().into_iter().filter(|section| section.table().starts_with("transports."));
    let names = sections.flat_map(|section| section.keys).map(|key| key.name);
    let mut names: Vec<&str> = names.filter(|name| !BY_THEMSELVES.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Formats a settings file with every key, its meaning and its default.
pub fn file() -> String {
    let mut text = HEAD.to_owned();
    for section in sections() {
        let mark = if section.keys.iter().any(|key| key.live) { "" } else { "#" };
        // Writing to a String cannot fail.
        let _ = write!(text, "\n# {}\n{mark}{}\n", section.about, section.header);
        for key in &section.keys {
            let mark = if key.live { "" } else { "#" };
            let is = if key.default.starts_with("required") { "" } else { "default: " };
            let _ = writeln!(text, "# {} ({}, {is}{})", key.meaning, key.kind, key.default);
            let _ = writeln!(text, "{mark}{} = {}", key.name, key.example);
        }
    }
    text
}

const HEAD: &str = "\
# Settings of Postrider: every key with its meaning. `postrider settings` prints this file.
#
# A line that starts with # and a key is commented out: remove the # to set the key. The keys that are set here deliver
# mails from one SQLite file to a folder, after `postrider migrate` has created the table. Choose the names after a dot
# (main, relay, mail) as you like. Each key can also be set in the environment: POSTRIDER__LANES__MAIL__BATCH=50.
# Secrets can be references: env://NAME, file://PATH, vault://…, aws-secretsmanager://…, encrypted://…
# More: docs/reference/settings.md
";
