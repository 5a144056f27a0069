//! Checks a JSON text before it is used: no duplicate members, limited depth, valid texts and numbers. Also checks
//! parts that are stored unparsed: two parsers may read `{"a":1,"a":2}` differently.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Message for a NUL character. Not every database can store one, and no receiver expects it.
pub const NO_NUL: &str = "must not contain the character NUL";

/// A JSON value that every parser reads alike; only checked, not kept.
pub struct CheckedJson;

impl<'de> Deserialize<'de> for CheckedJson {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(CheckVisitor)
    }
}

struct CheckVisitor;

macro_rules! accept {
    ($($method:ident: $kind:ty),* $(,)?) => {$(
        fn $method<E: Error>(self, _: $kind) -> Result<CheckedJson, E> {
            Ok(CheckedJson)
        }
    )*};
}

impl<'de> Visitor<'de> for CheckVisitor {
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
        while list.next_element::<CheckedJson>()?.is_some() {}
        Ok(CheckedJson)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<CheckedJson, A::Error> {
        let mut seen = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            if name.contains('\0') {
                return Err(A::Error::custom(NO_NUL));
            }
            if seen.contains(&name) {
                return Err(A::Error::custom(format_args!("duplicate field `{name}`")));
            }
            seen.insert(name);
            map.next_value::<CheckedJson>()?;
        }
        Ok(CheckedJson)
    }
}
