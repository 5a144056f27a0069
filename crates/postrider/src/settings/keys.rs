//! The list of all settings keys (`keys.txt`): type, default and meaning of each.
//!
//! Owns: the output of `postrider settings`, the options that transports accept next to their URL, and the tables of
//! docs/reference/settings.md. Must not: read settings. Invariant: every key that a reader reads is listed, and every
//! listed key is read; tests check both.

#[cfg(test)]
mod key_tests;
#[cfg(test)]
mod page;
#[cfg(test)]
mod refused;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub use tests::KEYS_READ;

use std::fmt::Write as _;

use serde::Serialize;

const TEXT: &str = include_str!("keys.txt");

/// One settings key.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Key {
    pub name: &'static str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    /// An example value in TOML.
    pub example: &'static str,
    #[serde(serialize_with = "plain")]
    pub default: Markdown,
    #[serde(serialize_with = "plain")]
    pub meaning: Markdown,
    /// Whether the printed file sets the key; otherwise its line is commented out.
    #[serde(skip)]
    is_set: bool,
}

/// A text with code and links in Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Markdown(pub &'static str);

impl Markdown {
    /// Returns the text without its markup: of a link, its words.
    pub fn plain(self) -> String {
        let mut text = String::new();
        let mut rest = self.0;
        while let Some((before, link)) = rest.split_once('[') {
            text.push_str(before);
            let parts =
                link.split_once("](").and_then(|(words, rest)| Some((words, rest.split_once(')')?.1)));
            let (words, after) = parts.filter(|(words, _)| !words.contains(']')).unwrap_or(("[", link));
            text.push_str(words);
            rest = after;
        }
        text.push_str(rest);
        text.replace('`', "")
    }
}

fn plain<S: serde::Serializer>(text: &Markdown, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&text.plain())
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
            default: Markdown(parts.next()?),
            meaning: Markdown(parts.next()?),
            is_set: mark == "* ",
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
const NOT_OPTIONS: [&str; 10] =
    ["url", "user", "password", "key", "senders", "rates", "waits", "jitter", "cool_down", "patience"];

/// The options that a transport's table accepts next to its URL; the transport interprets them.
pub fn transport_options() -> Vec<&'static str> {
    let sections = sections().into_iter().filter(|section| section.table().starts_with("transports."));
    let names = sections.flat_map(|section| section.keys).map(|key| key.name);
    let mut names: Vec<&str> = names.filter(|name| !NOT_OPTIONS.contains(name)).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// Formats a settings file with every key, its meaning and its default.
pub fn file() -> String {
    let mut text = HEAD.to_owned();
    for section in sections() {
        let mark = if section.keys.iter().any(|key| key.is_set) { "" } else { "#" };
        // Writing to a String cannot fail.
        let _ = write!(text, "\n# {}\n{mark}{}\n", section.about, section.header);
        for key in &section.keys {
            let mark = if key.is_set { "" } else { "#" };
            let default = key.default.plain();
            let is = if default.starts_with("required") { "" } else { "default: " };
            let _ = writeln!(text, "# {} ({}, {is}{default})", key.meaning.plain(), key.kind);
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
