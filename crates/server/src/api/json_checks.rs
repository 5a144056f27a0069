//! Checks a JSON text before it is used: no duplicate members, limited depth, valid texts and numbers. Also checks
//! parts that are stored unparsed: two parsers may read `{"a":1,"a":2}` differently.

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Message for a NUL character. Not every database can store one, and no receiver expects it.
pub const NO_NUL: &str = "must not contain the character NUL";

/// Names of members that are compared at the same time, in all nested objects together. More than a body of the usual
/// size can have; only larger ones need the limit, as each name needs memory.
const MAX_NAMES: usize = 500_000;

/// A JSON value that every parser reads alike; only checked, not kept.
pub struct CheckedJson;

impl<'de> Deserialize<'de> for CheckedJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        CheckVisitor { names: &Cell::new(0) }.deserialize(from)
    }
}

/// Checks a value; counts the names of the objects that are being read.
#[derive(Clone, Copy)]
struct CheckVisitor<'a> {
    names: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for CheckVisitor<'_> {
    type Value = CheckedJson;

    fn deserialize<D: Deserializer<'de>>(self, from: D) -> Result<CheckedJson, D::Error> {
        from.deserialize_any(self)
    }
}

macro_rules! accept {
    ($($method:ident: $kind:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, _: $kind) -> Result<CheckedJson, E> {
            Ok(CheckedJson)
        }
    )*};
}

impl<'de> Visitor<'de> for CheckVisitor<'_> {
    type Value = CheckedJson;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    accept! { visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64 }

    fn visit_str<E: Error>(self, text: &str) -> Result<CheckedJson, E> {
        if text.contains('\0') { Err(E::custom(NO_NUL)) } else { Ok(CheckedJson) }
    }

    fn visit_unit<E: Error>(self) -> Result<CheckedJson, E> {
        Ok(CheckedJson)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CheckedJson, A::Error> {
        while list.next_element_seed(self)?.is_some() {}
        Ok(CheckedJson)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CheckedJson, A::Error> {
        // An object may have very many members: names are borrowed from the text, except those with escapes.
        let mut seen: HashSet<Cow<'de, str>> = HashSet::new();
        while let Some(MemberName(name)) = map.next_key()? {
            if name.contains('\0') {
                return Err(A::Error::custom(NO_NUL));
            }
            if let Some(name) = seen.replace(name) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            self.names.set(self.names.get() + 1);
            if self.names.get() > MAX_NAMES {
                return Err(A::Error::custom(format_args!("must have at most {MAX_NAMES} members")));
            }
            map.next_value_seed(self)?;
        }
        self.names.set(self.names.get() - seen.len());
        Ok(CheckedJson)
    }
}

/// The name of a member, borrowed if possible.
struct MemberName<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for MemberName<'de> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_str(NameVisitor)
    }
}

struct NameVisitor;

impl<'de> Visitor<'de> for NameVisitor {
    type Value = MemberName<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<MemberName<'de>, E> {
        Ok(MemberName(Cow::Borrowed(name)))
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<MemberName<'de>, E> {
        Ok(MemberName(Cow::Owned(name.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<(), String> {
        serde_json::from_str::<CheckedJson>(text).map(|_| ()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_name_may_occur_once_in_each_object() {
        assert_eq!(check(r#"{"a": {"a": 1}, "b": [{"a": 1}, {"a": 2}]}"#), Ok(()));
        assert!(check(r#"{"a": 1, "\u0061": 2}"#).unwrap_err().contains("duplicate field `a`"));
    }

    #[test]
    fn names_are_limited_in_all_open_objects_together() {
        let members =
            |count: usize| (0..count).map(|number| format!("\"{number}\":0,")).collect::<Vec<_>>().concat();
        let half = format!("{{{}\"x\":0}}", members(MAX_NAMES / 2));
        assert_eq!(check(&format!("[{half},{half},{half}]")), Ok(()), "one after the other");
        let nested = format!("{{{}\"x\":{half}}}", members(MAX_NAMES / 2));
        assert!(check(&nested).unwrap_err().contains("must have at most 500000 members"));
    }
}
