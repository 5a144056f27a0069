//! Layers: values from a lane or the environment that override those of a contract's file.

use std::collections::BTreeMap;

/// Values to merge over a contract, and the names under which their author knows them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Layer {
    /// The source of the values: a file name, or `environment`.
    pub origin: String,
    /// The prefix of each key in messages: `lanes.mail`.
    pub prefix: String,
    /// The same keys as in a contract. Tables are merged, other values replaced; `stage.NAME` addresses one stage.
    pub values: toml::Table,
    /// Contract key → the external name that set it, for messages.
    pub(crate) names: BTreeMap<String, String>,
}

impl Layer {
    /// Creates a layer; keys are called `prefix.key` in messages.
    pub fn new(origin: impl Into<String>, prefix: impl Into<String>, values: toml::Table) -> Self {
        Self { origin: origin.into(), prefix: prefix.into(), values, names: BTreeMap::new() }
    }

    /// Returns the key as its author knows it.
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
