//! Reads the trace context from rows and composed messages, and writes it into messages.

use postrider_seams::{ClaimedRow, Content};

use crate::context::TraceContext;

/// The name of the header, and of the field of a row.
pub const TRACEPARENT: &str = "traceparent";

/// Returns the trace context in the row's own field; `None` if it is missing or invalid.
pub fn from_row(row: &ClaimedRow) -> Option<TraceContext> {
    TraceContext::parse(row.fields.as_ref()?.get(TRACEPARENT).as_text()?)
}

/// Returns the trace context in a header of the composed record, request or mail; `None` if it is missing or invalid.
pub fn from_content(content: &Content) -> Option<TraceContext> {
    let in_headers = |headers: &[(String, String)]| {
        let header = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case(TRACEPARENT));
        header.and_then(|(_, value)| TraceContext::parse(value))
    };
    match content {
        Content::Record(record) => in_headers(&record.headers),
        Content::Webhook(webhook) => in_headers(&webhook.headers),
        Content::Mail(mail) => from_mail(&mail.message),
        Content::Nothing => None,
    }
}

/// Returns the trace context in a mail's header. The header is never changed, because the mail may be signed.
fn from_mail(message: &[u8]) -> Option<TraceContext> {
    let mut lines = message.split(|byte| *byte == b'\n');
    let mut line = lines.next()?;
    while !line.is_empty() && line != b"\r" {
        let name = line.get(..TRACEPARENT.len() + 1);
        if name.is_some_and(|name| name.eq_ignore_ascii_case(b"traceparent:")) {
            return TraceContext::parse(std::str::from_utf8(&line[TRACEPARENT.len() + 1..]).ok()?);
        }
        line = lines.next()?;
    }
    None
}

/// Replaces the trace context of a record or webhook. Mails stay unchanged: their recipients are people.
pub fn inject(content: &mut Content, context: &TraceContext) {
    let headers = match content {
        Content::Record(record) => &mut record.headers,
        Content::Webhook(webhook) => &mut webhook.headers,
        Content::Mail(_) | Content::Nothing => return,
    };
    headers.retain(|(name, _)| !name.eq_ignore_ascii_case(TRACEPARENT));
    headers.push((TRACEPARENT.to_owned(), context.header()));
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use postrider_seams::Record;

    use super::*;

    const PARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

    #[test]
    fn a_header_is_found_whatever_its_case_and_replaced_once() {
        let headers = vec![("Traceparent".to_owned(), PARENT.to_owned()), ("id".to_owned(), "1".to_owned())];
        let record = Record { topic: "t".to_owned(), key: None, payload: Bytes::new(), headers };
        let mut content = Content::Record(record);
        let parent = from_content(&content).unwrap();
        assert_eq!(parent.header(), PARENT);
        inject(&mut content, &TraceContext { span: 7, ..parent });
        let Content::Record(record) = &content else { panic!("a record") };
        assert_eq!(record.headers.len(), 2);
        assert_eq!(from_content(&content).unwrap(), TraceContext { span: 7, ..parent });
    }

    #[test]
    fn a_mail_s_header_is_read_up_to_its_body() {
        let mail = format!("Subject: x\r\nTraceParent: {PARENT}\r\n\r\nbody");
        assert_eq!(from_mail(mail.as_bytes()).unwrap().header(), PARENT);
        let body = format!("Subject: x\r\n\r\ntraceparent: {PARENT}\r\n");
        assert_eq!(from_mail(body.as_bytes()), None);
    }
}
