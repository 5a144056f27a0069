//! Records for the contract `outbox`: one message to a broker, in order within its key.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::insert::{Due, Insert};
use crate::{Connection, Enqueued, Error, Table, check};

/// The limit of Kafka and of the column.
const TOPIC_LIMIT: usize = 249;
const KEY_LIMIT: usize = 255;
const HEADER_LIMIT: usize = 1024;
/// The limit of the column in the reference table.
const DEAL_LIMIT: usize = 64;

/// A record to enqueue, built step by step. Values are checked by [`Record::enqueue`].
#[derive(Clone)]
#[must_use = "a record is written by enqueue()"]
pub struct Record {
    topic: String,
    id: Option<String>,
    key: Option<String>,
    payload: Payload,
    idempotency_key: Option<String>,
    headers: Vec<(String, String)>,
    due: Option<Due>,
}

/// The payload. A failed conversion to JSON is kept here and returned by `enqueue`.
#[derive(Clone)]
enum Payload {
    Missing,
    Text(String),
    Broken(String),
}

impl Record {
    /// Creates a record for this topic (or subject, routing key, queue).
    pub fn topic(topic: impl Into<String>) -> Self {
        Self {
            topic: topic.into(),
            id: None,
            key: None,
            payload: Payload::Missing,
            idempotency_key: None,
            headers: Vec::new(),
            due: None,
        }
    }

    /// Sets the partition key: records with the same key are delivered in the order in which they were enqueued.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Sets the payload, which is delivered unchanged.
    pub fn payload(mut self, payload: impl Into<String>) -> Self {
        self.payload = Payload::Text(payload.into());
        self
    }

    /// Sets the payload to a value converted to JSON.
    pub fn json(mut self, payload: &impl Serialize) -> Self {
        self.payload = match serde_json::to_string(payload) {
            Ok(text) => Payload::Text(text),
            Err(problem) => Payload::Broken(problem.to_string()),
        };
        self
    }

    /// Sets the idempotency key: a second record with the same key is not inserted.
    ///
    /// Consumers receive it as a header and can use it to drop duplicate deliveries.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Sets the deal that the record belongs to; it is delivered as a header. At most 64 characters.
    pub fn deal_id(self, deal_id: impl Into<String>) -> Self {
        self.header("deal_id", deal_id)
    }

    /// Sets the W3C trace context (`00-…`): the delivery becomes part of that trace, and consumers receive it as a
    /// header.
    ///
    /// A table other than the reference table needs a column for it: `Table::outbox().column("headers.traceparent",
    /// …)`.
    pub fn traceparent(self, traceparent: impl Into<String>) -> Self {
        self.header("traceparent", traceparent)
    }

    /// Sets a header. The table needs a column for it, see [`Table::column`].
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Delays the delivery by this time, measured by the clock of the database. Later records of its key wait for it.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = Some(Due::After(delay));
        self
    }

    /// Sets the earliest time of delivery. Later records of its key wait for it.
    pub fn not_before(mut self, moment: SystemTime) -> Self {
        self.due = Some(Due::At(moment));
        self
    }

    /// Sets the id of the row, for tables that do not generate one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Inserts the record into the reference table, in the transaction that is open on `connection`.
    ///
    /// Fails if a value is invalid, before a statement is sent, or if the database refuses the insert.
    pub async fn enqueue<C: Connection>(&self, connection: &mut C) -> Result<Enqueued, Error> {
        self.enqueue_into(&Table::outbox(), connection).await
    }

    /// Inserts the record into a table with other names, in the transaction that is open on `connection`.
    pub async fn enqueue_into<C: Connection>(
        &self,
        table: &Table,
        connection: &mut C,
    ) -> Result<Enqueued, Error> {
        let insert = self.insert(table)?;
        connection.insert(&insert).await
    }

    fn insert<'a>(&'a self, table: &'a Table) -> Result<Insert<'a>, Error> {
        check::short("topic", &self.topic, TOPIC_LIMIT)?;
        let mut insert = Insert::new(table);
        insert.text("topic", &self.topic)?;
        insert.text("payload", self.checked_payload()?)?;
        if let Some(id) = &self.id {
            check::short("id", id, KEY_LIMIT)?;
            insert.id(id)?;
        }
        if let Some(key) = &self.key {
            check::short("key", key, KEY_LIMIT)?;
            insert.text("key", key)?;
        }
        if let Some(key) = &self.idempotency_key {
            check::short("idempotency_key", key, KEY_LIMIT)?;
            insert.dedupe(key)?;
        }
        for (name, value) in &self.headers {
            let limit = if name == "deal_id" { DEAL_LIMIT } else { HEADER_LIMIT };
            check::short("header", value, limit)?;
            insert.text(&format!("headers.{name}"), value)?;
        }
        if let Some(due) = self.due {
            insert.due(due)?;
        }
        Ok(insert)
    }

    fn checked_payload(&self) -> Result<&str, Error> {
        match &self.payload {
            Payload::Missing => Err(Error::NoPayload),
            Payload::Broken(problem) => {
                Err(Error::Json { field: "payload", source: serde::ser::Error::custom(problem) })
            }
            Payload::Text(text) => check::long("payload", text).map(|()| text.as_str()),
        }
    }
}

/// Omits the payload, because more people read logs than tables.
impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record")
            .field("topic", &self.topic)
            .field("key", &self.key)
            .field("idempotency_key", &self.idempotency_key)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
