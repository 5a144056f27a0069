//! Layers: what a lane or the environment says over a contract's own file.

use std::collections::BTreeMap;

/// Values to merge over a contract, and how to name them to the person who wrote them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// Where the values come from: a file's name, `environment`.
    pub origin: String,
    /// Put before each key in messages: `lanes.mail`.
    pub prefix: String,
    /// The same keys as a contract. A table merges, anything else replaces; `stage.NAME` reaches one stage.
    pub values: toml::Table,
    /// Contract key → the outside name that set it, for messages.
    pub(crate) names: BTreeMap<String, String>,
}

impl Layer {
    pub fn new(origin: impl Into<String>, prefix: impl Into<String>, values: toml::Table) -> Self {
        Self { origin: origin.into(), prefix: prefix.into(), values, names: BTreeMap::new() }
    }

    /// The key as its author knows it.
    pub(crate) fn label(&self, key: &str) -> String {
        if let Some(name) = self.names.get(key) {
            return name.clone();
        }
        match (self.prefix.is_empty(), key.is_empty()) {
            (true, _) => key.to_owned(),
            (false, true) => self.prefix.clone(),
            (false, false) => format!("{}.{key}", self.prefix),
        }
    }
}
