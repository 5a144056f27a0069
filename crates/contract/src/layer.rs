//! Layers: values from a lane or the environment that override those of a contract's file.

use postrider_config::{Node, Place};

/// Values to merge over a contract, and the names under which their author knows them.
#[derive(Debug, Clone, PartialEq)]
pub struct Layer {
    /// The prefix of each key in messages: `lanes.mail`.
    pub prefix: String,
    /// The same keys as in a contract. Tables are merged, other values replaced; `stage.NAME` addresses one stage.
    pub values: Node,
}

impl Layer {
    /// Creates a layer of values that have no lines; `origin` is their place in messages.
    pub fn new(origin: &str, prefix: impl Into<String>, values: toml::Table) -> Self {
        Self::of(prefix, Node::from_toml(&toml::Value::Table(values), &Place::new(origin)))
    }

    /// Creates a layer of values that know their places.
    pub fn of(prefix: impl Into<String>, values: Node) -> Self {
        Self { prefix: prefix.into(), values }
    }
}
