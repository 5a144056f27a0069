//! A record of the contract `outbox`: one message to a broker, in order within its key.

use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;

use crate::insert::{Due, Insert};
use crate::{Connection, Enqueued, Error, Table, check};

/// Kafka's limit, and the column's.
const TOPIC_LIMIT: usize = 249;
const KEY_LIMIT: usize = 255;
const HEADER_LIMIT: usize = 1024;
/// Of the reference table's column.
const DEAL_LIMIT: usize = 64;

/// A record to enqueue.
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

/// JSON may fail to be written; the caller is told at the end of the chain.
#[derive(Clone)]
enum Payload {
    Missing,
    Text(String),
    Broken(String),
}

impl Record {
    /// A record to this topic (or subject, routing key, queue).
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

    /// The partition key: records with the same one are delivered in the order of their enqueuing.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// The payload, delivered as it is.
    pub fn payload(mut self, payload: impl Into<String>) -> Self {
        self.payload = Payload::Text(payload.into());
        self
    }

    /// The payload as JSON.
    pub fn json(mut self, payload: &impl Serialize) -> Self {
        self.payload = match serde_json::to_string(payload) {
            Ok(text) => Payload::Text(text),
            Err(problem) => Payload::Broken(problem.to_string()),
        };
        self
    }

    /// A second record with this key is not inserted. Consumers get it as a header and can drop repeated deliveries by it.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// The deal that the record belongs to, delivered as a header.
    pub fn deal_id(self, deal_id: impl Into<String>) -> Self {
        self.header("deal_id", deal_id)
    }

    /// The W3C trace context (`00-…`): the record's delivery is a part of that trace, and consumers get it as a header. A table
    /// of your own needs a column for it: `Table::outbox().column("headers.traceparent", …)`.
    pub fn traceparent(self, traceparent: impl Into<String>) -> Self {
        self.header("traceparent", traceparent)
    }

    /// A header, which the table needs a column for.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// Delivered this much later at the earliest, by the database's clock. Later records of its key wait behind it.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = Some(Due::After(delay));
        self
    }

    /// Delivered then at the earliest. Later records of its key wait behind it.
    pub fn not_before(mut self, moment: SystemTime) -> Self {
        self.due = Some(Due::At(moment));
        self
    }

    /// The row's id, where the table does not make it itself.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Inserts it into the reference table, within the transaction that is open on `connection`.
    pub async fn enqueue<C: Connection>(&self, connection: &mut C) -> Result<Enqueued, Error> {
        self.enqueue_into(&Table::outbox(), connection).await
    }

    /// The same into a table of other names.
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

/// Without the payload: logs are read by more people than tables.
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
