//! The file's name and content.

use std::fmt::Write;

use postrider_seams::Mail;

/// File names may have 255 bytes; the temporary one is longer by a few.
const NAME_LIMIT: usize = 200;

/// A name from the Message-ID, which is the same for every delivery of the same row. Message-IDs of ours hold nothing
/// that a file name can't; those of others are made to fit, with a hash to keep them apart.
pub fn file_name(mail: &Mail) -> String {
    let fine = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
    let id = &mail.message_id;
    if !id.is_empty() && id.len() <= NAME_LIMIT && !id.starts_with('.') && id.chars().all(fine) {
        return format!("{id}.eml");
    }
    let replaced: String = id.chars().take(NAME_LIMIT / 2).map(|c| if fine(c) { c } else { '_' }).collect();
    format!("{}-{:016x}.eml", replaced.trim_start_matches('.'), fnv(id.as_bytes()))
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
