//! Cost of checking a payload against a schema, computed in advance. The validator cannot be interrupted, and a few
//! lines of nested `anyOf` with `$ref` can keep it busy for hours: so too much work is refused before it starts.
//!
//! Owns: the size limits of schemas, and an upper bound of the evaluations that one payload needs. Invariant: the bound
//! itself is cheap. It is computed once for each pair of a schema node and a part of the payload, however often the
//! validator would visit that pair, and gives up at [`Bound::visits`].

use std::collections::{BTreeMap, HashMap};

use serde_json::{Map, Value};

use super::pattern_cost::{on_text, pattern_cost, plus};

/// Maximum number of nodes of a schema, including those reached by references.
const MAX_NODES: usize = 2_000;
/// Maximum nesting of a schema.
const MAX_DEPTH: usize = 64;
/// Maximum length of a chain of subschemas, and of those in it that check the same part of a payload: the validator
/// recurses through them at every level of the payload.
const MAX_CHAIN: usize = 300;
const MAX_IN_PLACE_DEPTH: usize = 50;
/// Maximum number of entries of one `anyOf`, `allOf`, `oneOf`, `enum` or list of types.
const MAX_BRANCHES: usize = 1_000;
/// Maximum number of regular expressions of a schema, and of characters of one.
const MAX_PATTERNS: usize = 200;
const MAX_PATTERN_LENGTH: usize = 1_000;

/// Keywords whose subschemas check the same part of a payload.
const IN_PLACE: [&str; 3] = ["allOf", "anyOf", "oneOf"];
const IN_PLACE_ONE: [&str; 4] = ["not", "if", "then", "else"];
const EVERY_PROPERTY: [&str; 2] = ["additionalProperties", "unevaluatedProperties"];
const EVERY_ITEM: [&str; 3] = ["additionalItems", "contains", "unevaluatedItems"];

/// One node of a schema: its own checks, and its subschemas by the part of the payload that they apply to.
#[derive(Debug, Default)]
struct Node {
    /// Cost of its own checks; `per_text` is added for each 64 bytes of a text.
    own_cost: u64,
    per_text: u64,
    /// Cost per member name, and per 64 bytes of it.
    per_name: (u64, u64),
    unique: bool,
    /// The in-place checks are evaluated again to find the members that are left.
    repeats: bool,
    in_place: Vec<usize>,
    properties: HashMap<String, usize>,
    every_property: Vec<usize>,
    names: Vec<usize>,
    prefix: Vec<usize>,
    every_item: Vec<usize>,
    /// Total cost of the node and its in-place subschemas on a value without parts.
    base_cost: (u64, u64),
}

/// A schema prepared for computing costs with [`Cost::of`].
#[derive(Debug)]
pub struct Cost {
    nodes: Vec<Node>,
}

struct Builder<'a> {
    document: &'a Value,
    anchors: BTreeMap<&'a str, String>,
    known: HashMap<String, usize>,
    nodes: Vec<Node>,
    patterns: usize,
}

impl Cost {
    /// Analyses a schema; the error says which limit or rule it violates.
    pub fn new(document: &Value) -> Result<Self, String> {
        let mut anchors = BTreeMap::new();
        find_anchors(document, "", 0, &mut anchors)?;
        let mut builder =
            Builder { document, anchors, known: HashMap::new(), nodes: Vec::new(), patterns: 0 };
        builder.node("", document, 0)?;
        let mut nodes = builder.nodes;
        let mut state = vec![Visit::New; nodes.len()];
        for index in 0..nodes.len() {
            flatten(&mut nodes, &mut state, index, 0)?;
        }
        Ok(Self { nodes })
    }

    /// Returns an upper bound of the evaluations for this payload; `None` if it exceeds `most`.
    pub fn of(&self, payload: &Value, most: u64) -> Option<u64> {
        let mut bound = Bound { cost: self, known: HashMap::new(), visits: 0, most };
        bound.of(0, payload)
    }
}

/// Collects the anchors of the document. A nested `$id` is refused, because it would change the base of references.
fn find_anchors<'a>(
    value: &'a Value,
    pointer: &str,
    depth: usize,
    anchors: &mut BTreeMap<&'a str, String>,
) -> Result<(), String> {
    if depth > MAX_DEPTH {
        return Err(format!("it has more than {MAX_DEPTH} levels"));
    }
    match value {
        Value::Object(members) => {
            if depth > 0 && members.get("$id").is_some_and(Value::is_string) {
                return Err("only the schema itself may have an $id".to_owned());
            }
            for name in ["$anchor", "$dynamicAnchor"] {
                if let Some(anchor) = members.get(name).and_then(Value::as_str) {
                    anchors.insert(anchor, pointer.to_owned());
                }
            }
            for (name, member) in members {
                find_anchors(member, &child_pointer(pointer, name), depth + 1, anchors)?;
            }
        }
        Value::Array(list) => {
            for (index, entry) in list.iter().enumerate() {
                find_anchors(entry, &child_pointer(pointer, &index.to_string()), depth + 1, anchors)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn child_pointer(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"))
}

/// The number of values that a value consists of; long texts count more.
fn size(value: &Value) -> u64 {
    match value {
        Value::Array(list) => 1 + list.iter().map(size).sum::<u64>(),
        Value::Object(members) => 1 + members.values().map(size).sum::<u64>(),
        Value::String(text) => 1 + text.len() as u64 / 64,
        _ => 1,
    }
}

impl<'a> Builder<'a> {
    fn node(&mut self, pointer: &str, schema: &'a Value, depth: usize) -> Result<usize, String> {
        if let Some(index) = self.known.get(pointer) {
            return Ok(*index);
        }
        if self.nodes.len() >= MAX_NODES {
            return Err(format!("it has more than {MAX_NODES} subschemas"));
        }
        if depth > MAX_CHAIN {
            return Err(format!("its subschemas refer to each other more than {MAX_CHAIN} times"));
        }
        let index = self.nodes.len();
        self.known.insert(pointer.to_owned(), index);
        self.nodes.push(Node { own_cost: 1, ..Node::default() });
        if let Value::Object(members) = schema {
            self.nodes[index] = self.read(pointer, members, depth)?;
        }
        Ok(index)
    }

    fn read(&mut self, pointer: &str, members: &'a Map<String, Value>, depth: usize) -> Result<Node, String> {
        let mut node = Node { own_cost: 1 + members.len() as u64, ..Node::default() };
        for (name, value) in members {
            let here = child_pointer(pointer, name);
            match (name.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    let (pointer, target) = self.resolve(reference)?;
                    node.in_place.push(self.node(&pointer, target, depth + 1)?);
                }
                (name, Value::Array(_)) if IN_PLACE.contains(&name) => {
                    node.in_place.extend(self.list_nodes(&here, value, depth)?);
                }
                (name, _) if IN_PLACE_ONE.contains(&name) => {
                    node.in_place.push(self.node(&here, value, depth + 1)?);
                }
                ("dependencies" | "dependentSchemas", Value::Object(_)) => {
                    node.in_place.extend(self.named_nodes(&here, value, depth)?.into_values());
                }
                ("properties", Value::Object(_)) => {
                    node.properties = self.named_nodes(&here, value, depth)?;
                }
                ("patternProperties", Value::Object(patterns)) => {
                    patterns.keys().try_for_each(|pattern| self.count_pattern(pattern))?;
                    node.per_name = patterns.keys().map(|pattern| pattern_cost(pattern)).fold((0, 0), plus);
                    node.every_property.extend(self.named_nodes(&here, value, depth)?.into_values());
                }
                (name, _) if EVERY_PROPERTY.contains(&name) => {
                    node.repeats |= name.starts_with("unevaluated");
                    node.every_property.push(self.node(&here, value, depth + 1)?);
                }
                ("propertyNames", _) => node.names.push(self.node(&here, value, depth + 1)?),
                ("items" | "prefixItems", Value::Array(_)) => {
                    node.prefix.extend(self.list_nodes(&here, value, depth)?);
                }
                ("items", _) => node.every_item.push(self.node(&here, value, depth + 1)?),
                (name, _) if EVERY_ITEM.contains(&name) => {
                    node.repeats |= name.starts_with("unevaluated");
                    node.every_item.push(self.node(&here, value, depth + 1)?);
                }
                ("pattern", Value::String(pattern)) => {
                    self.count_pattern(pattern)?;
                    (node.own_cost, node.per_text) =
                        plus((node.own_cost, node.per_text), pattern_cost(pattern));
                }
                ("format" | "contentEncoding" | "contentMediaType", Value::String(_)) => node.per_text += 4,
                ("enum" | "const", _) => node.own_cost += size(value),
                ("uniqueItems", Value::Bool(true)) => node.unique = true,
                _ => {}
            }
        }
        if EVERY_PROPERTY.iter().any(|name| members.contains_key(*name)) {
            // The validator matches member names against the patterns again to find the members that are left.
            node.per_name = plus(node.per_name, node.per_name);
        }
        Ok(node)
    }

    fn list_nodes(&mut self, pointer: &str, list: &'a Value, depth: usize) -> Result<Vec<usize>, String> {
        let list = list.as_array().map(Vec::as_slice).unwrap_or_default();
        if list.len() > MAX_BRANCHES {
            return Err(format!("{pointer} has more than {MAX_BRANCHES} entries"));
        }
        let node =
            |(index, schema)| self.node(&child_pointer(pointer, &format!("{index}")), schema, depth + 1);
        list.iter().enumerate().map(node).collect()
    }

    fn named_nodes(
        &mut self,
        pointer: &str,
        schemas: &'a Value,
        depth: usize,
    ) -> Result<HashMap<String, usize>, String> {
        let schemas = schemas.as_object().into_iter().flatten();
        let node = |(name, schema): (&'a String, &'a Value)| {
            Ok((name.clone(), self.node(&child_pointer(pointer, name), schema, depth + 1)?))
        };
        schemas.map(node).collect()
    }

    fn count_pattern(&mut self, pattern: &str) -> Result<(), String> {
        self.patterns += 1;
        if self.patterns > MAX_PATTERNS {
            return Err(format!("it has more than {MAX_PATTERNS} regular expressions"));
        }
        if pattern.len() > MAX_PATTERN_LENGTH {
            return Err(format!("a regular expression has more than {MAX_PATTERN_LENGTH} characters"));
        }
        Ok(())
    }

    /// Resolves a reference within the document; references to other documents are refused.
    fn resolve(&self, reference: &str) -> Result<(String, &'a Value), String> {
        let outside =
            || format!("`$ref` {reference:?} has no target: references must stay within the schema (#/…)");
        let own = self.document.get("$id").and_then(Value::as_str).unwrap_or_default().trim_end_matches('#');
        let fragment = match reference.split_once('#') {
            Some((base, fragment)) if base.is_empty() || base == own => fragment,
            None if reference == own => "",
            _ => return Err(outside()),
        };
        let fragment = percent_encoding::percent_decode_str(fragment).decode_utf8_lossy().into_owned();
        let pointer = match fragment.as_str() {
            "" => fragment,
            pointer if pointer.starts_with('/') => fragment,
            anchor => self.anchors.get(anchor).cloned().ok_or_else(outside)?,
        };
        let target = self.document.pointer(&pointer).ok_or_else(outside)?;
        Ok((pointer, target))
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Visit {
    New,
    Open,
    Done,
}

/// Sums the costs of the in-place subschemas of a node; fails if they form a cycle.
fn flatten(
    nodes: &mut [Node],
    state: &mut [Visit],
    index: usize,
    depth: usize,
) -> Result<(u64, u64), String> {
    match state[index] {
        Visit::Done => return Ok(nodes[index].base_cost),
        Visit::Open => {
            return Err("a `$ref` refers back to itself for the same part of the payload".to_owned());
        }
        Visit::New => state[index] = Visit::Open,
    }
    if depth > MAX_IN_PLACE_DEPTH {
        return Err(format!("more than {MAX_IN_PLACE_DEPTH} nested checks of the same part"));
    }
    let (mut fixed, mut texts) = (nodes[index].own_cost, nodes[index].per_text);
    for child in nodes[index].in_place.clone() {
        let (more, more_texts) = flatten(nodes, state, child, depth + 1)?;
        (fixed, texts) = (fixed.saturating_add(more), texts.saturating_add(more_texts));
    }
    if nodes[index].repeats {
        (fixed, texts) = (fixed.saturating_mul(3), texts.saturating_mul(3));
    }
    nodes[index].base_cost = (fixed, texts);
    state[index] = Visit::Done;
    Ok(nodes[index].base_cost)
}

/// Maximum number of pairs of a node and a part that the bound visits.
const MAX_VISITS: u32 = 500_000;

struct Bound<'a> {
    cost: &'a Cost,
    known: HashMap<(usize, usize), u64>,
    visits: u32,
    most: u64,
}

impl Bound<'_> {
    fn of(&mut self, index: usize, part: &Value) -> Option<u64> {
        let node = &self.cost.nodes[index];
        let (fixed, texts) = node.base_cost;
        match part {
            Value::String(text) => return self.within_limit(on_text(node.base_cost, text)),
            Value::Array(_) | Value::Object(_) => {}
            _ => return self.within_limit(fixed.saturating_add(texts)),
        }
        // The payload is not moved during the computation, so the address identifies the part.
        let pair = (index, std::ptr::from_ref(part) as usize);
        if let Some(known) = self.known.get(&pair) {
            return Some(*known);
        }
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return None;
        }
        let mut sum = node.own_cost;
        for child in &node.in_place {
            sum = sum.saturating_add(self.of(*child, part)?);
        }
        let below = match part {
            Value::Array(list) => self.items(node, list)?,
            Value::Object(members) => self.members(node, members)?,
            _ => 0,
        };
        sum = sum.saturating_add(below);
        if node.repeats {
            sum = sum.saturating_mul(3);
        }
        self.known.insert(pair, sum);
        self.within_limit(sum)
    }

    fn within_limit(&self, cost: u64) -> Option<u64> {
        (cost <= self.most).then_some(cost)
    }

    fn items(&mut self, node: &Node, list: &[Value]) -> Option<u64> {
        let mut sum = 0u64;
        for (index, entry) in list.iter().enumerate() {
            let own = node.prefix.get(index).into_iter();
            for child in own.chain(&node.every_item) {
                let more = self.of(*child, entry)?;
                sum = self.within_limit(sum.saturating_add(more))?;
            }
            if node.unique {
                sum = self.within_limit(sum.saturating_add(size(entry).saturating_mul(16)))?;
            }
        }
        Some(sum)
    }

    fn members(&mut self, node: &Node, members: &Map<String, Value>) -> Option<u64> {
        let mut sum = 0u64;
        for (name, member) in members {
            sum = self.within_limit(sum.saturating_add(on_text(node.per_name, name)))?;
            let own = node.properties.get(name).into_iter();
            for child in own.chain(&node.every_property) {
                let more = self.of(*child, member)?;
                sum = self.within_limit(sum.saturating_add(more))?;
            }
            for child in &node.names {
                sum =
                    self.within_limit(sum.saturating_add(on_text(self.cost.nodes[*child].base_cost, name)))?;
            }
        }
        Some(sum)
    }
}

#[cfg(test)]
mod tests;
