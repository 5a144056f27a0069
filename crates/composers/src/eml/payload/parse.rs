//! Checks the form of a payload: an object whose members have the right types, or a reason that names the wrong member.

use std::fmt;
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde_json::error::Category;

use super::{AttachmentObject, Reason};

pub(super) fn parse<'de, T: Deserialize<'de>>(text: &'de [u8]) -> Result<T, Reason> {
    let mut json = serde_json::Deserializer::from_slice(text);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let (path, problem) = (error.path().to_string(), error.inner().to_string());
        match error.inner().classify() {
            Category::Data if path == "." => Reason::Member { member: "payload".to_owned(), problem },
            Category::Data => Reason::Member { member: path, problem },
            Category::Syntax | Category::Eof | Category::Io => Reason::Json(problem),
        }
    })?;
    json.end().map_err(|error| Reason::Json(error.to_string()))?;
    Ok(parsed)
}

/// Accepts only a JSON object: serde would also accept a list with the members in the order of the struct.
pub(super) struct Object<T>(pub T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Members<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(members))
            }
        }
        deserializer.deserialize_map(Members(PhantomData)).map(Self)
    }
}

/// An attachment: a path, or an object with a path or with base64 content.
pub(super) enum AttachmentEntry {
    Path(String),
    Object(Box<AttachmentObject>),
}

impl<'de> Deserialize<'de> for AttachmentEntry {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Either;
        impl<'de> Visitor<'de> for Either {
            type Value = AttachmentEntry;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a path, or an object with `path` or `content`")
            }

            fn visit_str<E: Error>(self, path: &str) -> Result<AttachmentEntry, E> {
                Ok(AttachmentEntry::Path(path.to_owned()))
            }

            fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<AttachmentEntry, A::Error> {
                let object = AttachmentObject::deserialize(MapAccessDeserializer::new(members))?;
                Ok(AttachmentEntry::Object(Box::new(object)))
            }
        }
        deserializer.deserialize_any(Either)
    }
}
