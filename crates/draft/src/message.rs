//! What the rows are, and which columns the composer reads.

use postrider_seams::TableDescription;
use postrider_seams::table::ColumnDescription;

use crate::Purpose;
use crate::columns::{Choice, Kind, choose, kind};

/// A field of a composer, and the names that its column usually has, the likeliest first.
struct Field {
    name: &'static str,
    names: &'static [&'static str],
}

const MAIL: &[Field] = &[
    Field {
        name: "to",
        names: &[
            "to",
            "recipient",
            "recipients",
            "to_address",
            "to_email",
            "mail_to",
            "email_to",
            "recipient_email",
            "to_addresses",
            "email",
            "address",
        ],
    },
    Field { name: "cc", names: &["cc", "cc_address", "cc_addresses"] },
    Field { name: "bcc", names: &["bcc", "bcc_address", "bcc_addresses"] },
    Field {
        name: "from",
        names: &["from", "sender", "from_email", "from_address", "mail_from", "email_from"],
    },
    Field { name: "reply_to", names: &["reply_to", "reply_to_address"] },
    Field { name: "subject", names: &["subject", "title", "email_subject"] },
    Field {
        name: "text",
        names: &[
            "body_text",
            "text_body",
            "text",
            "plain_body",
            "body_plain",
            "message",
            "body",
            "content",
            "plain",
        ],
    },
    Field {
        name: "html",
        names: &["body_html", "html_body", "html", "html_message", "message_html", "html_content"],
    },
    Field { name: "headers", names: &["headers", "custom_headers"] },
    Field { name: "attachments", names: &["attachments"] },
    Field { name: "dedupe", names: DEDUPE },
    Field { name: "traceparent", names: &["traceparent"] },
];
const RECORD: &[Field] = &[
    Field {
        name: "topic",
        names: &[
            "topic",
            "destination",
            "channel",
            "queue",
            "routing_key",
            "event_name",
            "event_type",
            "message_type",
            "record_type",
            "type",
            "aggregate_type",
            "name",
            "subject",
            "kind",
            "action_type",
        ],
    },
    Field {
        name: "key",
        names: &[
            "partition_key",
            "record_key",
            "event_key",
            "message_key",
            "group_key",
            "key",
            "aggregate_id",
            "message_group",
            "entity_id",
            "ordering_key",
        ],
    },
    Field {
        name: "payload",
        names: &[
            "payload",
            "body",
            "data",
            "message",
            "content",
            "event_data",
            "message_body",
            "event_json",
            "payload_json",
            "event",
            "invocation",
            "json",
            "value",
        ],
    },
    Field { name: "headers", names: &["headers", "metadata", "message_headers"] },
    Field { name: "dedupe", names: DEDUPE },
    Field { name: "traceparent", names: &["traceparent"] },
];
const WEBHOOK: &[Field] = &[
    Field {
        name: "url",
        names: &[
            "url",
            "target_url",
            "callback_url",
            "webhook_url",
            "endpoint",
            "endpoint_url",
            "uri",
            "destination",
        ],
    },
    Field { name: "payload", names: &["payload", "body", "data", "request_body", "content", "message"] },
    Field { name: "headers", names: &["headers", "request_headers"] },
    Field { name: "content_type", names: &["content_type"] },
    Field { name: "dedupe", names: DEDUPE },
    Field { name: "traceparent", names: &["traceparent"] },
];
const DEDUPE: &[&str] =
    &["idempotency_key", "idempotent_key", "dedupe_key", "event_id", "message_id", "uuid"];

/// Columns that mean the same key of an ordered group.
const ORDER: &[&str] = &["seq", "sequence", "sequence_number", "position", "ordinal", "sort_order"];

/// Guesses what the rows are, and says why.
pub fn purpose(table: &TableDescription) -> Option<(Purpose, String)> {
    let named = |fields: &[Field], field: &str| {
        let field = fields.iter().find(|known| known.name == field)?;
        choose(table, field.names, |_| true).map(|choice| choice.column)
    };
    if let (Some(to), Some(subject)) = (named(MAIL, "to"), named(MAIL, "subject")) {
        return Some((Purpose::Mail, format!("it has {to} and {subject}")));
    }
    if let Some(url) = named(WEBHOOK, "url").filter(|url| !url.eq_ignore_ascii_case("destination")) {
        return Some((Purpose::Webhook, format!("it has {url}")));
    }
    let payload = named(RECORD, "payload")?;
    Some((Purpose::Record, format!("it has {payload}, and neither recipients nor a URL")))
}

/// A field that a column was chosen for.
pub type Chosen = (&'static str, Choice);

/// Chooses a column for each field of the composer. `taken` are the columns with a role, and the key.
pub fn fields(table: &TableDescription, purpose: Purpose, taken: &[&str]) -> Vec<Chosen> {
    let fields = match purpose {
        Purpose::Mail => MAIL,
        Purpose::Record => RECORD,
        Purpose::Webhook => WEBHOOK,
    };
    let mut used: Vec<String> = taken.iter().map(|&name| name.to_owned()).collect();
    let mut chosen = Vec::new();
    for field in fields {
        let free = |column: &ColumnDescription| !used.contains(&column.name) && may_hold(field.name, column);
        if let Some(choice) = choose(table, field.names, free) {
            used.push(choice.column.clone());
            chosen.push((field.name, choice));
        }
    }
    as_html(table, purpose, &mut chosen);
    chosen
}

fn may_hold(field: &str, column: &ColumnDescription) -> bool {
    match kind(column) {
        Kind::Text => true,
        Kind::Integer => matches!(field, "key" | "dedupe"),
        Kind::Json | Kind::Bytes => {
            let is_text = kind(column) == Kind::Bytes && matches!(field, "subject" | "text" | "html");
            is_text
                || matches!(field, "to" | "cc" | "bcc" | "payload" | "headers" | "attachments" | "reply_to")
        }
        Kind::Boolean | Kind::Time => false,
    }
}

/// A body that starts as HTML is the HTML part.
fn as_html(table: &TableDescription, purpose: Purpose, chosen: &mut [Chosen]) {
    if purpose != Purpose::Mail || chosen.iter().any(|(field, _)| *field == "html") {
        return;
    }
    let is_html = |name: &str| {
        let example = table.column(name).and_then(|column| column.example.as_deref()).unwrap_or_default();
        example.trim_start().starts_with('<')
    };
    if let Some(body) = chosen.iter_mut().find(|(field, choice)| *field == "text" && is_html(&choice.column))
    {
        body.0 = "html";
    }
}

/// The fields without which the composer composes no row: one of each list is needed.
pub fn required(purpose: Purpose) -> &'static [&'static [&'static str]] {
    match purpose {
        Purpose::Mail => &[&["to"], &["text", "html"]],
        Purpose::Record => &[&["topic"], &["payload"]],
        Purpose::Webhook => &[&["url"]],
    }
}

/// Returns the column that orders the rows of a group, if there is one with such a name.
pub fn sequence(table: &TableDescription) -> Option<String> {
    choose(table, ORDER, |column| kind(column) == Kind::Integer).map(|choice| choice.column)
}
