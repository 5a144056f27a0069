//! Matching of events: patterns of event types, and conditions on the data.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

/// The comparison with a value of the event's data. `IN`: `value` is a list that contains it. `PREFIX`: a string that
/// starts with `value`. `EXISTS`: the value is present; `value` is left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum FilterOp {
    Equals,
    NotEquals,
    /// `value` is a list that contains it.
    In,
    GreaterThan,
    LessThan,
    /// A string that starts with `value`.
    Prefix,
    /// The value is present; `value` is left out.
    Exists,
}

/// A condition on the event's data.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct DataFilter {
    /// JSON Pointer (RFC 6901) into the data: `/customer/tier`.
    #[schema(max_length = 255, pattern = r"^/[^\u0000]*$")]
    pub path: String,
    /// How the value at `path` is compared.
    pub op: FilterOp,
    /// What it is compared with. Default: none, for `EXISTS` only.
    #[serde(default, skip_serializing_if = "Value::is_null")]
    #[schema(value_type = serde_json::Value, required = false)]
    pub value: Value,
}

impl DataFilter {
    /// Returns what is wrong with the filter; `None` if it is valid.
    pub(super) fn error(&self) -> Option<&'static str> {
        if !self.path.starts_with('/') || self.path.len() > 255 || self.path.contains('\0') {
            return Some("path must be a JSON pointer: /customer/tier");
        }
        match self.op {
            FilterOp::In if !self.value.is_array() => Some("IN needs a list as its value"),
            FilterOp::GreaterThan | FilterOp::LessThan
                if !(self.value.is_number() || self.value.is_string()) =>
            {
                Some("this comparison needs a number or a string as its value")
            }
            FilterOp::Prefix if !self.value.is_string() => Some("PREFIX needs a string as its value"),
            FilterOp::Exists if !self.value.is_null() => Some("EXISTS must not have a value"),
            _ => None,
        }
    }

    pub(crate) fn matches(&self, data: &Value) -> bool {
        let found = data.pointer(&self.path);
        match (self.op, found) {
            (FilterOp::Exists, found) => found.is_some(),
            (FilterOp::NotEquals, None) => true,
            (_, None) => false,
            (FilterOp::Equals, Some(found)) => same(found, &self.value),
            (FilterOp::NotEquals, Some(found)) => !same(found, &self.value),
            (FilterOp::In, Some(found)) => {
                self.value.as_array().is_some_and(|list| list.iter().any(|one| same(found, one)))
            }
            (FilterOp::GreaterThan, Some(found)) => {
                compared(found, &self.value).is_some_and(std::cmp::Ordering::is_gt)
            }
            (FilterOp::LessThan, Some(found)) => {
                compared(found, &self.value).is_some_and(std::cmp::Ordering::is_lt)
            }
            (FilterOp::Prefix, Some(found)) => {
                found.as_str().zip(self.value.as_str()).is_some_and(|(found, start)| found.starts_with(start))
            }
        }
    }
}

/// Whether two values are equal; numbers are compared by value, so 1 equals 1.0.
fn same(one: &Value, other: &Value) -> bool {
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) => one.total_cmp(&other).is_eq(),
        _ => one == other,
    }
}

fn compared(one: &Value, other: &Value) -> Option<std::cmp::Ordering> {
    match (one, other) {
        (Value::String(one), Value::String(other)) => Some(one.cmp(other)),
        _ => one.as_f64()?.partial_cmp(&other.as_f64()?),
    }
}

/// Whether the text is `application:subdomain:aggregate:event`. With `stars`, a part may also be `*`.
pub(crate) fn is_pattern(text: &str, stars: bool) -> bool {
    let part = |part: &str| {
        let name = !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b));
        name || (stars && part == "*")
    };
    text.len() <= 255 && text.split(':').count() == 4 && text.split(':').all(part)
}

/// Whether the code matches the pattern, part by part.
pub(crate) fn matches_code(pattern: &str, code: &str) -> bool {
    let mut parts = pattern.split(':').zip(code.split(':'));
    pattern.split(':').count() == code.split(':').count()
        && parts.all(|(pattern, part)| pattern == "*" || pattern == part)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn j04_a_star_stands_for_one_part() {
        let code = "shop:orders:order:created";
        for pattern in [code, "shop:orders:order:*", "*:*:*:*", "shop:*:order:created"] {
            assert!(is_pattern(pattern, true) && matches_code(pattern, code), "{pattern}");
        }
        for pattern in [
            "shop:orders:order:deleted",
            "shop:orders:*",
            "shop:orders:ord*:created",
            "Shop:orders:order:created",
        ] {
            assert!(!matches_code(pattern, code), "{pattern}");
        }
        for wrong in ["", "a:b:c", "a:b:c:d:e", "a::c:d", "a:b:c:d e", "a:b:c:d*"] {
            assert!(!is_pattern(wrong, true), "{wrong}");
        }
        assert!(!is_pattern("a:b:c:*", false));
    }

    #[test]
    fn j04_data_filters_compare_as_they_say() {
        let data = json!({"amount": 99.5, "customer": {"tier": "gold"}, "tags": [1, 2], "none": null});
        let filter = |path: &str, op: &str, value: Value| -> DataFilter {
            let mut filter = json!({"path": path, "op": op});
            if op != "EXISTS" {
                filter["value"] = value;
            }
            serde_json::from_value(filter).expect("a filter")
        };
        for (path, op, value, holds) in [
            ("/amount", "EQUALS", json!(99.5), true),
            ("/amount", "GREATER_THAN", json!(99), true),
            ("/amount", "LESS_THAN", json!(99), false),
            ("/amount", "GREATER_THAN", json!("99"), false),
            ("/customer/tier", "EQUALS", json!("gold"), true),
            ("/customer/tier", "EQUALS", json!("Gold"), false),
            ("/customer/tier", "IN", json!(["silver", "gold"]), true),
            ("/customer/tier", "PREFIX", json!("go"), true),
            ("/customer/age", "EQUALS", json!(1), false),
            ("/customer/age", "NOT_EQUALS", json!(1), true),
            ("/none", "EXISTS", json!(null), true),
            ("/absent", "EXISTS", json!(null), false),
            ("/tags/1", "EQUALS", json!(2.0), true),
        ] {
            let filter = filter(path, op, value);
            assert_eq!(filter.error(), None, "{filter:?}");
            assert_eq!(filter.matches(&data), holds, "{filter:?}");
        }
        assert!(filter("/a", "IN", json!(1)).error().is_some());
        assert!(filter("a", "EQUALS", json!(1)).error().is_some());
    }
}
