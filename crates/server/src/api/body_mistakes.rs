//! Finds every mistake in the structure of a refused body: unknown, missing, duplicate and wrongly typed members.
//!
//! serde stops at the first one. What a body may contain is known from the schema that the OpenAPI document shows. The
//! body is read once more as a stream, without building values; the number of mistakes is limited. Invariant: only
//! bodies that serde has refused are read here, so that a schema can refuse nothing that serde accepts.

use std::collections::{HashMap, HashSet};
use std::fmt;

use postrider_config::closest;
use postrider_hub::{Fault, Moment};
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use utoipa::ToSchema;
use utoipa::openapi::schema::{
    AdditionalProperties, ArrayItems, Object, ObjectBuilder, OneOfBuilder, Schema, SchemaType, Type,
};
use utoipa::openapi::{KnownFormat, RefOr, SchemaFormat};

use super::json_checks::NO_NUL;

#[cfg(test)]
mod tests;

/// Maximum number of mistakes that one response lists, and the length of their fields above which the list ends.
const MAX_MISTAKES: usize = 100;
const MAX_FIELD_BYTES: usize = 16 << 10;
/// Maximum length of a name for which a suggestion is searched.
const MAX_NAME: usize = 100;
/// Maximum number of names that an error lists.
const MAX_NAMES: usize = 20;

/// The schema of a body, and those that it refers to.
pub struct BodySchema {
    root: RefOr<Schema>,
    named: HashMap<String, RefOr<Schema>>,
}

impl BodySchema {
    /// Returns the schema of this type.
    pub fn of<T: ToSchema>() -> Self {
        let mut named = Vec::new();
        T::schemas(&mut named);
        Self { root: T::schema(), named: named.into_iter().collect() }
    }

    /// Returns the schema of this type or null.
    pub fn optional<T: ToSchema>() -> Self {
        let schema = Self::of::<T>();
        let null = ObjectBuilder::new().schema_type(Type::Null).build();
        let either = OneOfBuilder::new().item(schema.root).item(Schema::Object(null)).build();
        Self { root: RefOr::T(Schema::OneOf(either)), ..schema }
    }

    /// Returns the schema of any JSON.
    pub fn any() -> Self {
        let any = ObjectBuilder::new().schema_type(SchemaType::AnyValue).build();
        Self { root: RefOr::T(Schema::Object(any)), named: HashMap::new() }
    }

    /// Returns all mistakes in this body, as far as it is JSON.
    pub fn mistakes(&self, json: &[u8]) -> Vec<Fault> {
        let mut reader = Reader { schema: self, at: String::new(), faults: Vec::new(), field_bytes: 0 };
        let expected = self.resolve(&self.root);
        // An error here means that the list is full, or that the rest is not JSON.
        let _ = Node { reader: &mut reader, expected }
            .deserialize(&mut serde_json::Deserializer::from_slice(json));
        reader.faults
    }

    /// Follows references.
    fn resolve<'a>(&'a self, schema: &'a RefOr<Schema>) -> Option<&'a Schema> {
        match schema {
            RefOr::T(schema) => Some(schema),
            RefOr::Ref(reference) => {
                let (_, name) = reference.ref_location.rsplit_once('/')?;
                match self.named.get(name)? {
                    RefOr::T(schema) => Some(schema),
                    RefOr::Ref(_) => None,
                }
            }
        }
    }

    /// Returns the alternatives of a schema; none if it does not say what it accepts.
    fn alternatives<'a>(&'a self, schema: &'a Schema) -> Vec<&'a Schema> {
        match schema {
            Schema::OneOf(one_of) => one_of.items.iter().filter_map(|item| self.resolve(item)).collect(),
            Schema::Object(_) | Schema::Array(_) => vec![schema],
            _ => Vec::new(),
        }
    }
}

/// Reads a body and collects its mistakes.
struct Reader<'s> {
    schema: &'s BodySchema,
    /// The field that is read: `metadata[2].key`.
    at: String,
    faults: Vec<Fault>,
    field_bytes: usize,
}

impl Reader<'_> {
    fn add<E: Error>(&mut self, message: impl Into<String>) -> Result<(), E> {
        let field = if self.at.is_empty() { "body" } else { self.at.as_str() };
        self.field_bytes += field.len();
        self.faults.push(Fault::new(field, message));
        let is_full = self.faults.len() >= MAX_MISTAKES || self.field_bytes >= MAX_FIELD_BYTES;
        if is_full { Err(E::custom("too many mistakes")) } else { Ok(()) }
    }

    /// Runs `read` with a longer field.
    fn within<T>(&mut self, part: &str, read: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.at.len();
        if !self.at.is_empty() && !part.starts_with('[') {
            self.at.push('.');
        }
        self.at.push_str(part);
        let result = read(self);
        self.at.truncate(length);
        result
    }
}

/// A value of the body, and what it is expected to be; `None`: anything.
struct Node<'r, 's> {
    reader: &'r mut Reader<'s>,
    expected: Option<&'s Schema>,
}

impl<'s> Node<'_, 's> {
    /// Returns the alternatives that accept this type. If there are none, a mistake is added.
    fn accepting<E: Error>(&mut self, found: &Type) -> Result<Vec<&'s Schema>, E> {
        let Some(expected) = self.expected else { return Ok(Vec::new()) };
        let alternatives = self.reader.schema.alternatives(expected);
        let accepting: Vec<&Schema> =
            alternatives.iter().copied().filter(|schema| accepts(schema, found)).collect();
        if accepting.is_empty() && !alternatives.is_empty() {
            self.reader.add(format!("must be {}", described(&alternatives)))?;
        }
        Ok(accepting)
    }

    fn number<E: Error>(mut self, found: &Type, number: f64) -> Result<(), E> {
        for schema in self.accepting(found)? {
            let Schema::Object(object) = schema else { continue };
            if let Some(least) = object.minimum.as_ref().map(as_float).filter(|least| number < *least) {
                return self.reader.add(format!("must be at least {least}"));
            }
            if let Some(most) = object.maximum.as_ref().map(as_float).filter(|most| number > *most) {
                return self.reader.add(format!("must be at most {most}"));
            }
        }
        Ok(())
    }
}

fn as_float(number: &utoipa::Number) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "the limits of the API are small numbers")]
    match number {
        utoipa::Number::Int(number) => *number as f64,
        utoipa::Number::UInt(number) => *number as f64,
        utoipa::Number::Float(number) => *number,
    }
}

fn schema_type(schema: &Schema) -> &SchemaType {
    match schema {
        Schema::Object(object) => &object.schema_type,
        Schema::Array(array) => &array.schema_type,
        _ => &SchemaType::AnyValue,
    }
}

fn accepts(schema: &Schema, found: &Type) -> bool {
    let is = |known: &Type| known == found || (*known == Type::Number && *found == Type::Integer);
    match schema_type(schema) {
        SchemaType::AnyValue => true,
        SchemaType::Type(known) => is(known),
        SchemaType::Array(known) => known.iter().any(is),
    }
}

/// Describes what a value must be: `a string`, `a whole number or null`.
fn described(alternatives: &[&Schema]) -> String {
    let mut names = Vec::new();
    for schema in alternatives {
        let types = match schema_type(schema) {
            SchemaType::AnyValue => &[][..],
            SchemaType::Type(known) => std::slice::from_ref(known),
            SchemaType::Array(known) => known,
        };
        names.extend(types.iter().map(|known| match known {
            Type::Object => "an object",
            Type::String => "a string",
            Type::Integer => "a whole number",
            Type::Number => "a number",
            Type::Boolean => "true or false",
            Type::Array => "a list",
            Type::Null => "null",
        }));
    }
    // Null comes last.
    names.sort_by_key(|name| *name == "null");
    names.dedup();
    names.join(" or ")
}

/// Returns what is wrong with an unknown name: the name that was probably meant, or all known ones.
fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str> + Clone) -> String {
    if name.len() > MAX_NAME {
        return format!("unknown {what}");
    }
    if let Some(meant) = closest(name, known.clone()) {
        return format!("unknown {what} `{name}`; did you mean `{meant}`?");
    }
    let names: Vec<String> = known.take(MAX_NAMES).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return format!("unknown {what} `{name}`");
    }
    format!("unknown {what} `{name}`; known are {}", names.join(", "))
}

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<(), D::Error> {
        from.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_bool<E: Error>(mut self, _: bool) -> Result<(), E> {
        self.accepting(&Type::Boolean).map(|_| ())
    }

    #[expect(clippy::cast_precision_loss, reason = "it is compared with small limits")]
    fn visit_i64<E: Error>(self, number: i64) -> Result<(), E> {
        self.number(&Type::Integer, number as f64)
    }

    #[expect(clippy::cast_precision_loss, reason = "it is compared with small limits")]
    fn visit_u64<E: Error>(self, number: u64) -> Result<(), E> {
        self.number(&Type::Integer, number as f64)
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<(), E> {
        self.number(&Type::Number, number)
    }

    fn visit_unit<E: Error>(mut self) -> Result<(), E> {
        self.accepting(&Type::Null).map(|_| ())
    }

    fn visit_str<E: Error>(mut self, text: &str) -> Result<(), E> {
        if text.contains('\0') {
            self.reader.add(NO_NUL)?;
        }
        for schema in self.accepting(&Type::String)? {
            let Schema::Object(object) = schema else { continue };
            let values = || object.enum_values.iter().flatten().filter_map(serde_json::Value::as_str);
            if object.enum_values.is_some() && !values().any(|value| value == text) {
                return self.reader.add(unknown("value", text, values()));
            }
            let is_time = matches!(object.format, Some(SchemaFormat::KnownFormat(KnownFormat::DateTime)));
            if is_time && Moment::parse(text).is_none() {
                return self.reader.add(Moment::EXPECTED);
            }
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let accepting = self.accepting(&Type::Array)?;
        let items = accepting.into_iter().find_map(|schema| match schema {
            Schema::Array(array) => match &array.items {
                ArrayItems::RefOrSchema(items) => self.reader.schema.resolve(items),
                ArrayItems::False => None,
            },
            _ => None,
        });
        for index in 0.. {
            let next = self.reader.within(&format!("[{index}]"), |reader| {
                list.next_element_seed(Node { reader, expected: items })
            });
            if next?.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let accepting = self.accepting(&Type::Object)?;
        let object = accepting.into_iter().find_map(|schema| match schema {
            Schema::Object(object) => Some(object),
            _ => None,
        });
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let is_new = seen.insert(name.clone());
            self.reader.within(&name, |reader| {
                if name.contains('\0') {
                    reader.add(NO_NUL)?;
                }
                if !is_new {
                    reader.add(format!("duplicate field `{name}`"))?;
                }
                let expected = object.and_then(|object| member(reader, object, &name)).transpose()?;
                map.next_value_seed(Node { reader, expected: expected.flatten() })
            })?;
        }
        let required = object.map_or(&[][..], |object| &object.required);
        for name in required.iter().filter(|name| !seen.contains(*name)) {
            self.reader.within(name, |reader| reader.add("is missing"))?;
        }
        Ok(())
    }
}

/// Returns the schema of an object's member, `None` if the object accepts any. Adds a mistake if it has no such member.
fn member<'s, E: Error>(
    reader: &mut Reader<'s>,
    object: &'s Object,
    name: &str,
) -> Option<Result<Option<&'s Schema>, E>> {
    if let Some(known) = object.properties.get(name) {
        return Some(Ok(reader.schema.resolve(known)));
    }
    match object.additional_properties.as_deref()? {
        AdditionalProperties::RefOr(schema) => Some(Ok(reader.schema.resolve(schema))),
        AdditionalProperties::FreeForm(true) => None,
        AdditionalProperties::FreeForm(false) => {
            let message = unknown("field", name, object.properties.keys().map(String::as_str));
            Some(reader.add(message).map(|()| None))
        }
    }
}
