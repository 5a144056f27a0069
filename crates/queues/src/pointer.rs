//! The encoding of a pointer: `{"v":1,"id":"0HZXEQ5Y8JY5Z"}`, with the key as a string or an integer.

use postrider_seams::RowId;
use serde_json::{Value, json};

/// Version of the encoding; pointers of other versions are unreadable.
const VERSION: u64 = 1;

/// Largest message in bytes that is decoded; our pointers are shorter.
const MAX_BYTES: usize = 1024;

pub(crate) fn encode(row: &RowId) -> String {
    let id = match row {
        RowId::Int(id) => json!(id),
        RowId::Text(id) => json!(**id),
    };
    json!({ "v": VERSION, "id": id }).to_string()
}

/// Decodes a pointer; `None` if the message is not one.
pub(crate) fn decode(body: &[u8]) -> Option<RowId> {
    if body.len() > MAX_BYTES {
        return None;
    }
    let value: Value = serde_json::from_slice(body).ok()?;
    if value.get("v")?.as_u64() != Some(VERSION) {
        return None;
    }
    match value.get("id")? {
        Value::Number(id) => id.as_i64().map(RowId::Int),
        Value::String(id) if is_key(id) => Some(RowId::Text(id.as_str().into())),
        _ => None,
    }
}

/// Whether the text is a key that every database accepts in a query.
fn is_key(id: &str) -> bool {
    !id.is_empty() && id.len() <= 255 && !id.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn j03_a_pointer_is_a_key_and_nothing_else() {
        for row in
            [RowId::Int(42), RowId::Int(-1), RowId::Text("0HZXEQ5Y8JY5Z".into()), RowId::Text("ä\"'".into())]
        {
            let text = encode(&row);
            assert_eq!(decode(text.as_bytes()), Some(row));
        }
        assert_eq!(encode(&RowId::Text("a".into())), r#"{"id":"a","v":1}"#);
    }

    #[test]
    fn j03_what_is_no_pointer_is_unreadable() {
        let huge = format!(r#"{{"v":1,"id":"{}"}}"#, "x".repeat(2000));
        let long = format!(r#"{{"v":1,"id":"{}"}}"#, "x".repeat(300));
        let bodies: [&[u8]; 12] = [
            b"",
            b"hello",
            b"{",
            b"[1]",
            b"\xff\xfe",
            br#"{"id":"a"}"#,
            br#"{"v":2,"id":"a"}"#,
            br#"{"v":1,"id":""}"#,
            br#"{"v":1,"id":1.5}"#,
            br#"{"v":1,"id":"a\u0000b"}"#,
            huge.as_bytes(),
            long.as_bytes(),
        ];
        for body in bodies {
            assert_eq!(decode(body), None, "{}", String::from_utf8_lossy(body));
        }
    }
}
