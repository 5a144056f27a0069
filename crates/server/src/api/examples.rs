//! Adds an example to every request and response of the OpenAPI document.
//!
//! `examples.json` has one example per schema, and one per media type that is not JSON. A test checks each of them
//! against its schema.

use serde_json::{Map, Value, json};
use utoipa::openapi::path::Operation;
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, RefOr};

const FILE: &str = include_str!("examples.json");

/// The examples of the OpenAPI document, by schema name or media type.
pub struct Examples(Map<String, Value>);

impl Examples {
    /// Parses `examples.json`.
    pub fn read() -> Self {
        Self(serde_json::from_str(FILE).expect("a test reads the file"))
    }

    /// Adds an example to every body of the operation that has none yet.
    pub fn add_to(&self, operation: &mut Operation) {
        let request = operation.request_body.iter_mut().filter_map(inline).flat_map(|body| &mut body.content);
        let responses = operation.responses.responses.values_mut().filter_map(inline);
        let responses = responses.flat_map(|response| &mut response.content);
        for (media_type, content) in request.chain(responses) {
            if let Some(content) = inline(content)
                && content.example.is_none()
            {
                content.example = self.of_content(media_type, content);
            }
        }
    }

    fn of_content(&self, media_type: &str, content: &Content) -> Option<Value> {
        let of_ref = |schema: &RefOr<Schema>| match schema {
            RefOr::Ref(schema) => self.of_schema(schema.ref_location.rsplit('/').next()?),
            RefOr::T(_) => None,
        };
        match content.schema.as_ref()? {
            RefOr::T(Schema::OneOf(one_of)) => one_of.items.iter().find_map(of_ref),
            RefOr::T(Schema::Array(array)) => match &array.items {
                utoipa::openapi::schema::ArrayItems::RefOrSchema(item) => {
                    of_ref(item).map(|one| json!([one]))
                }
                utoipa::openapi::schema::ArrayItems::False => None,
            },
            RefOr::T(_) => self.0.get(media_type).cloned(),
            schema @ RefOr::Ref(_) => of_ref(schema),
        }
    }

    fn of_schema(&self, name: &str) -> Option<Value> {
        if let Some(item) = name.strip_prefix("Page_") {
            let mut item = self.0.get(item)?.clone();
            for only_in_detail in ["payload", "attempts"] {
                item.as_object_mut()?.remove(only_in_detail);
            }
            return Some(json!({ "items": [item], "nextCursor": null }));
        }
        match name {
            "KeyList" => Some(json!({ "items": [self.0.get("ApiKey")?] })),
            "SchemaList" => Some(json!({ "items": [self.0.get("PayloadSchema")?] })),
            "ApiKeyWithSecret" => self.with("ApiKey", "key", "pr_9f2c41_EXAMPLE"),
            "ServiceAccountWithSecret" => self.with("ServiceAccount", "signingSecret", "whsec_EXAMPLE"),
            _ => self.0.get(name).cloned(),
        }
    }

    fn with(&self, schema: &str, member: &str, value: &str) -> Option<Value> {
        let mut example = self.0.get(schema)?.clone();
        example.as_object_mut()?.insert(member.to_owned(), value.into());
        Some(example)
    }
}

/// Returns the value itself, `None` if it is a reference.
pub fn inline<T>(part: &mut RefOr<T>) -> Option<&mut T> {
    match part {
        RefOr::T(part) => Some(part),
        RefOr::Ref(_) => None,
    }
}
