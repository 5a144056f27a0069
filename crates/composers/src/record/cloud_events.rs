//! CloudEvents 1.0 in binary mode: the event's attributes become headers, the payload is unchanged.

use postrider_seams::{Fields, Value};

use super::headers::{self, Headers};
use super::{Reason, fields};

/// The settings of the CloudEvents attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloudEvents {
    /// Source of the events: a URI reference.
    pub source: String,
    /// Prefix of every attribute: `ce_` on Kafka, `ce-` on NATS and SQS, `cloudEvents_` on AMQP.
    pub prefix: String,
    /// Content type of payloads in text columns; binary columns are `application/octet-stream`.
    pub content_type: String,
}

impl CloudEvents {
    /// Creates settings with the content type `application/json`.
    pub fn new(source: impl Into<String>, prefix: impl Into<String>) -> Self {
        Self { source: source.into(), prefix: prefix.into(), content_type: "application/json".to_owned() }
    }

    /// Adds the attributes: `type` (default: the topic), `subject` (default: the key), and `time` if the row has one.
    pub(super) fn add_headers(
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
