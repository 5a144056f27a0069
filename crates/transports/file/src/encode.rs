//! The file's name and content.

use std::fmt::Write;

use postrider_seams::{Mail, Record};

/// File names may have 255 bytes; the temporary one is longer by a few.
const NAME_LIMIT: usize = 200;

/// A name from the Message-ID, which is the same for every delivery of the same row. Message-IDs of ours hold nothing
/// that a file name can't; those of others are made to fit, with a hash to keep them apart.
pub fn file_name(mail: &Mail) -> String {
    fitting(&mail.message_id, "eml")
}

/// A name from the topic and the dedupe key: a second delivery of the same row replaces the file of the first.
pub fn record_name(record: &Record, dedupe: &str) -> String {
    fitting(&format!("{}@{dedupe}", record.topic), "record")
}

/// `ROW.eml`, or a name like it that is no way out of the folder.
pub fn row_name(row: &str) -> String {
    fitting(row, "eml")
}

fn fitting(id: &str, extension: &str) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    if !id.is_empty() && id.len() <= NAME_LIMIT && !id.starts_with('.') && id.chars().all(fine) {
        return format!("{id}.{extension}");
    }
    let replaced: String = id.chars().take(NAME_LIMIT / 2).map(|c| if fine(c) { c } else { '_' }).collect();
    format!("{}-{:016x}.{extension}", replaced.trim_start_matches('.'), fnv(id.as_bytes()))
}

/// The first line of a record's file, one JSON object; the rest is the payload to the byte.
pub fn record_line(record: &Record) -> String {
    let headers: serde_json::Map<String, serde_json::Value> =
        record.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let line = serde_json::json!({ "topic": record.topic, "key": record.key, "headers": headers });
    format!("{line}\n")
}

/// The envelope as header lines: blind recipients are in no header of the message, and a developer wants to see them.
pub fn envelope(mail: &Mail) -> String {
    let mut lines = format!("X-Envelope-From: <{}>\r\n", mail.from);
    for to in &mail.to {
        write!(lines, "X-Envelope-To: <{to}>\r\n").expect("writing to a string can't fail");
    }
    lines
}

/// FNV-1a: stable over versions and machines, as names must be.
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
            served: Vec::new(),
            metadata: Vec::new(),
        }
    }

    #[test]
    fn the_name_is_the_message_id() {
        assert_eq!(file_name(&mail("mails.42@example.org")), "mails.42@example.org.eml");
    }

    #[test]
    fn no_message_id_leads_out_of_the_folder() {
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
