//! No input can add a header, a recipient or a line.

use mail_parser::MessageParser;
use postrider_mail::{Mailbox, MessageParts, address, header};
use proptest::prelude::*;

use crate::roundtrip::{assert_wire_form, mailbox, parts};

const HOSTILE: &str = "[a-z@<>\",:;. \\\\\r\n\t\u{0}\u{b}\u{85}\u{2028}é=?]{0,40}";

/// The names of all headers of the message, in order.
fn header_names(message: &[u8]) -> Vec<String> {
    let parsed = MessageParser::default().parse(message).unwrap();
    parsed.headers_raw().map(|(name, _)| name.to_owned()).collect()
}

#[test]
fn line_breaks_in_headers_are_refused() {
    for value in ["a\r\nBcc: x@example.org", "a\nb", "a\rb", "a\0b", "a\u{85}b", "a\u{2028}b"] {
        assert!(header::CustomHeader::new("X-Test", value).is_err(), "{value:?}");
        let from = mailbox("ann@example.org");
        assert!(MessageParts { subject: Some(value), ..parts(&from) }.write().is_err(), "{value:?}");
        assert!(Mailbox::new(value, from.address.clone()).is_err(), "{value:?}");
        assert!(address::parse_list(&format!("x{value}@example.org")).is_err(), "{value:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn an_accepted_address_is_one_token(text in HOSTILE) {
        for mailbox in address::parse_list(&text).unwrap_or_default() {
            let address = mailbox.address.as_str();
            prop_assert!(!address.chars().any(|c| c.is_control() || c.is_whitespace() || matches!(c, '<' | '>')));
            prop_assert!(mailbox.address.domain().is_ascii());
        }
    }

    #[test]
    fn accepted_input_adds_no_header(name in HOSTILE, subject in HOSTILE, key in "[A-Za-z:\r\n -]{1,12}", value in HOSTILE) {
        let from = mailbox("ann@example.org");
        let Ok(to) = Mailbox::new(&name, from.address.clone()) else { return Ok(()) };
        let custom = header::CustomHeader::new(&key, &value);
        let headers = custom.as_ref().map(std::slice::from_ref).unwrap_or_default();
        let parts = MessageParts { to: std::slice::from_ref(&to), subject: Some(&subject), headers, ..parts(&from) };
        let Ok(message) = parts.write() else { return Ok(()) };
        assert_wire_form(&message);
        let mut expected = vec!["Date", "Message-ID", "From", "To", "Subject"];
        expected.extend(headers.iter().map(header::CustomHeader::name));
        expected.extend(["MIME-Version", "Content-Type", "Content-Transfer-Encoding"]);
        prop_assert_eq!(header_names(&message), expected);
        let parsed = MessageParser::default().parse(&message).unwrap();
        let to = parsed.to().unwrap();
        prop_assert_eq!(to.iter().filter_map(|one| one.address()).collect::<Vec<_>>(), ["ann@example.org"]);
    }
}
