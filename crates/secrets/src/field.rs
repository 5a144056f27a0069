//! `#field`: selects a member of a secret that is a JSON object.

use postrider_seams::Secret;
use postrider_seams::secret::Error;
use serde_json::Value;

pub(crate) fn select_field(secret: &Secret, field: &str) -> Result<Secret, Error> {
    let Ok(Value::Object(mut members)) = serde_json::from_str(secret.reveal()) else {
        return Err(Error::Refused(format!("the secret is not a JSON object, so it has no member {field}")));
    };
    match members.remove(field) {
        Some(value) => {
            to_secret(value).ok_or_else(|| Error::Refused(format!("the secret's member {field} is not text")))
        }
        None => Err(Error::Refused(format!("the secret has no member {field}"))),
    }
}

/// Converts a value to a secret: strings unchanged, numbers and booleans as JSON; `None` for anything else.
pub(crate) fn to_secret(value: Value) -> Option<Secret> {
    match value {
        Value::String(text) => Some(Secret::new(text)),
        Value::Number(_) | Value::Bool(_) => Some(Secret::new(value.to_string())),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j11_a_field_picks_a_member() {
        let secret = Secret::new(r#"{"user": "shop", "port": 25, "deep": {"a": "hunter2"}}"#);
        assert_eq!(select_field(&secret, "user").unwrap().reveal(), "shop");
        assert_eq!(select_field(&secret, "port").unwrap().reveal(), "25");
        for wrong in ["deep", "none"] {
            assert!(!select_field(&secret, wrong).unwrap_err().to_string().contains("hunter2"));
        }
        assert!(!select_field(&Secret::new("hunter2"), "a").unwrap_err().to_string().contains("hunter2"));
    }
}
