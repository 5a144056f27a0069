//! Table and column names: those of the reference tables, or the application's own. A table is defined once at
//! start-up; names are validated here and quoted where they are used.

use std::collections::BTreeMap;

use crate::{Error, TimeColumnType, check};

/// Fields of both tables that the library fills itself, and their columns.
const ROW: [(&str, &str); 5] = [
    ("id", "id"),
    ("status", "status"),
    ("attempts", "retry_count"),
    ("created", "created_at"),
    ("due", "next_attempt_at"),
];
const RECORD: [(&str, &str); 7] = [
    ("topic", "topic"),
    ("key", "partition_key"),
    ("payload", "payload"),
    ("dedupe", "idempotency_key"),
    ("version", "version"),
    ("headers.deal_id", "deal_id"),
    ("headers.traceparent", "traceparent"),
];
const MAIL: [(&str, &str); 15] = [
    ("to", "to_addresses"),
    ("cc", "cc_addresses"),
    ("bcc", "bcc_addresses"),
    ("from", "from_address"),
    ("reply_to", "reply_to"),
    ("subject", "subject"),
    ("text", "body_text"),
    ("html", "body_html"),
    ("headers", "headers"),
    ("attachments", "attachments"),
    ("template", "template"),
    ("variables", "variables"),
    ("locale", "locale"),
    ("dedupe", "idempotency_key"),
    ("priority", "priority"),
];

/// A table with its columns. Fields have the names that Postrider's contracts give them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    name: String,
    initial_status: String,
    /// Field → column.
    columns: BTreeMap<String, String>,
    /// Field → type, for PostgreSQL.
    casts: BTreeMap<String, String>,
    times: Option<TimeColumnType>,
    accepts_headers: bool,
}

impl Table {
    /// The reference table of the contract `outbox`.
    pub fn outbox() -> Self {
        Self { accepts_headers: true, ..Self::reference("outbox", "PENDING", &RECORD) }
    }

    /// The reference table of the contract `mail_outbox`.
    pub fn mail_outbox() -> Self {
        Self::reference("mail_outbox", "queued", &MAIL)
    }

    fn reference(name: &str, initial_status: &str, fields: &[(&str, &str)]) -> Self {
        let columns = ROW.iter().chain(fields);
        Self {
            name: name.to_owned(),
            initial_status: initial_status.to_owned(),
            columns: columns.map(|(field, column)| ((*field).to_owned(), (*column).to_owned())).collect(),
            casts: BTreeMap::new(),
            times: None,
            accepts_headers: false,
        }
    }

    /// Sets the name: `events`, or `shop.events` with a schema; an error if it is not a valid name.
    pub fn named(mut self, name: &str) -> Result<Self, Error> {
        let refuse = || Error::Name { name: name.to_owned() };
        if name.split('.').count() > 2 {
            return Err(refuse());
        }
        name.split('.').try_for_each(|part| check::name(part).map_err(|_| refuse()))?;
        name.clone_into(&mut self.name);
        Ok(self)
    }

    /// Sets the column of a field: `table.column("payload", "body")?`; an error if the field is unknown.
    ///
    /// Headers of a record are `headers.deal_id`, `headers.traceparent` and so on; the reference table has these two.
    pub fn column(mut self, field: &str, column: &str) -> Result<Self, Error> {
        check::name(column)?;
        let header =
            self.accepts_headers && field.strip_prefix("headers.").is_some_and(|name| !name.is_empty());
        if !self.columns.contains_key(field) && !header {
            return Err(self.unknown(field));
        }
        self.columns.insert(field.to_owned(), column.to_owned());
        Ok(self)
    }

    /// Omits a field, because the table lacks its column or fills it with a default, such as `version`.
    pub fn without(mut self, field: &str) -> Result<Self, Error> {
        match self.columns.remove(field) {
            Some(_) => Ok(self),
            None => Err(self.unknown(field)),
        }
    }

    /// Casts values of a field on PostgreSQL, for a column such as `jsonb` or `uuid` to which text cannot be assigned.
    pub fn cast(mut self, field: &str, sql_type: &str) -> Result<Self, Error> {
        check::name(sql_type)?;
        if !self.columns.contains_key(field) {
            return Err(self.unknown(field));
        }
        self.casts.insert(field.to_owned(), sql_type.to_owned());
        Ok(self)
    }

    /// Sets the type of the time columns, if it differs from that of the reference table.
    #[must_use]
    pub fn times(mut self, times: TimeColumnType) -> Self {
        self.times = Some(times);
        self
    }

    /// Sets the status of a new row, if it is not `PENDING` (records) or `queued` (mails).
    pub fn initial_status(mut self, status: &str) -> Result<Self, Error> {
        if status.is_empty() || status.contains(['\'', '"', '\\', '\0']) {
            return Err(Error::Status { value: status.to_owned() });
        }
        status.clone_into(&mut self.initial_status);
        Ok(self)
    }

    fn unknown(&self, field: &str) -> Error {
        let known: Vec<&str> = self.columns.keys().map(String::as_str).collect();
        Error::Field { table: self.name.clone(), field: field.to_owned(), known: known.join(", ") }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn status_of_new_rows(&self) -> &str {
        &self.initial_status
    }

    pub(crate) fn column_of(&self, field: &str) -> Option<&str> {
        self.columns.get(field).map(String::as_str)
    }

    pub(crate) fn cast_of(&self, field: &str) -> Option<&str> {
        self.casts.get(field).map(String::as_str)
    }

    pub(crate) fn chosen_times(&self) -> Option<TimeColumnType> {
        self.times
    }
}
