//! Encodes a record as an AMQP message, and determines its route.

use lapin::BasicProperties;
use lapin::types::{AMQPValue, FieldTable, LongString, ShortString};
use postrider_seams::outcome::rejected;
use postrider_seams::{Envelope, Outcome, Receipt, Record};

/// Maximum bytes of names and ids, whose length is sent in one byte.
const SHORT_STRING_LIMIT: usize = 255;
/// Delivery mode of messages that survive a restart of the broker, if the queue is durable.
const PERSISTENT: u8 = 2;

/// The exchange and routing key of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Route {
    /// Empty for the default exchange, whose routing key is the name of a queue.
    pub exchange: String,
    pub key: String,
}

impl Route {
    pub(crate) fn of(topic: &str, exchange: Option<&str>) -> Result<Self, Outcome> {
        let (exchange, key) = match exchange {
            Some(exchange) => (exchange, topic),
            None => topic.split_once('/').unwrap_or(("", topic)),
        };
        if exchange.len() > SHORT_STRING_LIMIT || key.len() > SHORT_STRING_LIMIT {
            return Err(rejected(format!(
                "topic: an exchange or a routing key must have at most {SHORT_STRING_LIMIT} bytes"
            )));
        }
        Ok(Self { exchange: exchange.to_owned(), key: key.to_owned() })
    }
}

/// Returns the id that the broker sends back with a returned message: the dedupe key, or the row's id if that is too
/// long. The whole dedupe key is in the header `idempotency-key`.
pub(crate) fn message_id(envelope: &Envelope) -> &str {
    if envelope.dedupe.len() <= SHORT_STRING_LIMIT { &envelope.dedupe } else { &envelope.row }
}

/// Returns the receipt. The broker assigns no id: it knows the message by ours.
pub(crate) fn receipt(message_id: &str) -> Receipt {
    Receipt { id: Some(message_id.to_owned()), ..Receipt::default() }
}

/// Encodes the properties. The key becomes the header `key`: AMQP has no message keys.
pub(crate) fn properties(record: &Record, message_id: &str) -> Result<BasicProperties, Outcome> {
    let mut headers = FieldTable::default();
    let mut content_type = None;
    for (name, value) in &record.headers {
        if name.eq_ignore_ascii_case("content-type") {
            content_type = Some(short_string(value)?);
        } else {
            headers.insert(short_string(name)?, AMQPValue::LongString(LongString::from(value.as_str())));
        }
    }
    if let Some(key) = &record.key {
        headers.insert("key".into(), AMQPValue::LongString(LongString::from(key.as_str())));
    }
    let properties = BasicProperties::default()
        .with_delivery_mode(PERSISTENT)
        .with_message_id(short_string(message_id)?)
        .with_headers(headers);
    Ok(match content_type {
        Some(content_type) => properties.with_content_type(content_type),
        None => properties,
    })
}

fn short_string(text: &str) -> Result<ShortString, Outcome> {
    ShortString::try_new(text)
        .map_err(|_| rejected(format!("headers: a name must have at most {SHORT_STRING_LIMIT} bytes")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(topic: &str, exchange: Option<&str>) -> (String, String) {
        let route = Route::of(topic, exchange).unwrap();
        (route.exchange, route.key)
    }

    #[test]
    fn the_topic_names_the_exchange_unless_the_settings_do() {
        assert_eq!(route("orders", None), (String::new(), "orders".to_owned()));
        assert_eq!(route("deals/made.eu", None), ("deals".to_owned(), "made.eu".to_owned()));
        assert_eq!(route("deals/made/eu", None), ("deals".to_owned(), "made/eu".to_owned()));
        assert_eq!(route("made/eu", Some("deals")), ("deals".to_owned(), "made/eu".to_owned()));
        assert!(Route::of(&"x".repeat(256), None).is_err());
    }

    #[test]
    fn messages_are_persistent_and_carry_their_ids() {
        let record = Record {
            topic: "t".to_owned(),
            key: Some("k".to_owned()),
            payload: "x".into(),
            headers: vec![
                ("id".to_owned(), "1".to_owned()),
                ("Content-Type".to_owned(), "application/json".to_owned()),
            ],
        };
        let properties = properties(&record, "d-1").unwrap();
        assert_eq!(properties.delivery_mode(), &Some(2));
        assert_eq!(properties.message_id().as_ref().map(ShortString::as_str), Some("d-1"));
        assert_eq!(properties.content_type().as_ref().map(ShortString::as_str), Some("application/json"));
        assert_eq!(properties.headers().as_ref().map(|headers| headers.inner().len()), Some(2));
    }
}
