//! CloudEvents 1.0, binary mode: the event's attributes as headers, the payload untouched.

use postrider_seams::{Fields, Value};

use super::headers::{self, Headers};
use super::{Reason, fields};

/// How rows are described as events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEvents {
    /// Who the events come from: a URI reference.
    pub source: String,
    /// In front of every attribute: `ce_` on Kafka, `ce-` on NATS and SQS, `cloudEvents_` on AMQP.
    pub prefix: String,
    /// Of payloads in text columns; those in binary columns are `application/octet-stream`.
    pub content_type: String,
}

impl CloudEvents {
    pub fn new(source: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self { source: source.into(), prefix: prefix.into(), content_type: "application/json".to_owned() }
    }

    /// `type` is the row's, or the topic; `subject` the row's, or the key; `time` only where the row has one.
    pub(super) fn describe(
        &self,
        row: &Fields,
        topic: &str,
        key: Option<&str>,
        dedupe: &str,
        headers: &mut Headers,
    ) -> Result<(), Reason> {
        let own = |field: &str| fields::text(field, row.get(field));
        let kind = own("type")?;
        let subject = own("subject")?;
        let time = own("time")?;
        let mut set = |name: &str, value: Option<&str>| {
            if let Some(value) = value {
                headers::set(headers, &format!("{}{name}", self.prefix), value);
            }
        };
        set("specversion", Some("1.0"));
        set("id", Some(dedupe));
        set("source", Some(&self.source));
        set("type", Some(kind.as_deref().unwrap_or(topic)));
        set("subject", subject.as_deref().or(key));
        set("time", time.as_deref());
        let binary = matches!(row.get("payload"), Value::Bytes(_));
        let content_type = if binary { "application/octet-stream" } else { &self.content_type };
        headers::set(headers, "content-type", content_type);
        Ok(())
    }
}
