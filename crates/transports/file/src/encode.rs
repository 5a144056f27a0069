//! The file name and the content of each file: a mail, or a record.

use std::fmt::Write;

use postrider_seams::{Mail, Record};

/// Maximum length of a name in bytes. File systems allow 255; the temporary name is a few longer.
const NAME_LIMIT: usize = 200;

/// Returns the name of a mail's file, from its Message-ID, which is equal in every delivery of a row.
/// Our own Message-IDs are valid file names; others are converted, with a hash to keep them distinct.
pub fn file_name(mail: &Mail) -> String {
    safe_name(&mail.message_id, "eml")
}

/// Returns the name of a record's file, from topic and dedupe key: a second delivery replaces the first file.
pub fn record_name(record: &Record, dedupe: &str) -> String {
    safe_name(&format!("{}@{dedupe}", record.topic), "record")
}

/// Returns `ROW.eml`, or a similar name that cannot leave the folder.
pub fn row_name(row: &str) -> String {
    safe_name(row, "eml")
}

fn safe_name(id: &str, extension: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    if !id.is_empty() && id.len() <= NAME_LIMIT && !id.starts_with('.') && id.chars().all(fine) {
        return format!("{id}.{extension}");
    }
    let replaced: String = id.chars().take(NAME_LIMIT / 2).map(|c| if fine(c) { c } else { '_' }).collect();
    format!("{}-{:016x}.{extension}", replaced.trim_start_matches('.'), fnv(id.as_bytes()))
}

/// Returns the first line of a record's file, one JSON object; the rest is the exact payload.
pub fn record_line(record: &Record) -> String {
    let headers: serde_json::Map<String, serde_json::Value> =
        record.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let line = serde_json::json!({ "topic": record.topic, "key": record.key, "headers": headers });
    format!("{line}\n")
}

/// Returns the envelope as header lines: Bcc recipients are in no header of the message, but developers need them.
pub fn envelope(mail: &Mail) -> String {
    let mut lines = format!("X-Envelope-From: <{}>\r\n", mail.from);
    for to in &mail.to {
        write!(lines, "X-Envelope-To: <{to}>\r\n").expect("writing to a string can't fail");
    }
    lines
}

/// Computes FNV-1a, which is stable over versions and machines, as names must be.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mail(message_id: &str) -> Mail {
        Mail {
            from: "a@example.org".to_owned(),
            to: vec!["b@example.org".to_owned(), "c@example.org".to_owned()],
            message: bytes::Bytes::new(),
            rest: None,
            message_id: message_id.to_owned(),
            utf8: false,
            settled: Vec::new(),
            metadata: Vec::new(),
        }
    }

    #[test]
    fn the_name_is_the_message_id() {
        assert_eq!(file_name(&mail("mails.42@example.org")), "mails.42@example.org.eml");
    }

    #[test]
    fn no_message_id_escapes_the_folder() {
        for id in
            ["../../etc/passwd", "/etc/passwd", "..", ".", "", "a\0b", "a\\b", &"x".repeat(400), ".hidden"]
        {
            let name = file_name(&mail(id));
            assert!(!name.contains(['/', '\\', '\0']) && !name.starts_with('.'), "{name}");
            assert!(name.len() <= 255, "{name}");
        }
    }

    #[test]
    fn o09_a_records_file_opens_with_a_line_of_json() {
        let record = Record {
            topic: "deals/made".to_owned(),
            key: Some("k".to_owned()),
            payload: bytes::Bytes::new(),
            headers: vec![("id".to_owned(), "1\n2".to_owned())],
        };
        let line: serde_json::Value = serde_json::from_str(&record_line(&record)).unwrap();
        let wanted = serde_json::json!({ "topic": "deals/made", "key": "k", "headers": { "id": "1\n2" } });
        assert_eq!(line, wanted);
        assert_eq!(record_line(&record).lines().count(), 1);
        let name = record_name(&record, "../x");
        assert!(name.starts_with("deals_made@.._x-"), "{name}");
    }

    #[test]
    fn different_ids_have_different_names() {
        assert_ne!(file_name(&mail("a/b@c")), file_name(&mail("a\\b@c")));
        assert_ne!(file_name(&mail(&"x".repeat(300))), file_name(&mail(&"x".repeat(301))));
    }

    #[test]
    fn blind_recipients_are_visible_on_top() {
        let lines = "X-Envelope-From: <a@example.org>\r\nX-Envelope-To: <b@example.org>\r\nX-Envelope-To: <c@example.org>\r\n";
        assert_eq!(envelope(&mail("x@y")), lines);
    }
}
