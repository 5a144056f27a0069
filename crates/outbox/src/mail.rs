//! Mails for the contract `mail_outbox`. Refuses what the worker would reject, as far as that is known without its
//! settings.

mod attachment;
mod mailbox;

use std::collections::BTreeMap;
use std::fmt;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use serde_json::Value;

use crate::insert::{Due, Insert};
use crate::{Connection, Enqueued, Error, Table, check};

pub use attachment::Attachment;
pub use mailbox::Mailbox;

const KEY_LIMIT: usize = 255;
const TEMPLATE_LIMIT: usize = 200;
const LOCALE_LIMIT: usize = 35;
const HEADER_LIMIT: usize = 16 * 1024;

/// A mail to enqueue, built step by step. Values are checked by [`Mail::enqueue`].
#[derive(Clone, Default)]
#[must_use = "a mail is written by enqueue()"]
pub struct Mail {
    id: Option<String>,
    to: Vec<Mailbox>,
    cc: Vec<Mailbox>,
    bcc: Vec<Mailbox>,
    from: Option<Mailbox>,
    reply_to: Option<Mailbox>,
    subject: String,
    text: Option<String>,
    html: Option<String>,
    headers: BTreeMap<String, String>,
    attachments: Vec<Attachment>,
    template: Option<String>,
    variables: Option<Result<Value, String>>,
    locale: Option<String>,
    idempotency_key: Option<String>,
    priority: Option<i32>,
    due: Due,
}

impl Mail {
    /// Creates a mail to `ann@example.org`, to `Ann <ann@example.org>`, or to a [`Mailbox`].
    pub fn to(address: impl Into<Mailbox>) -> Self {
        Self { to: vec![address.into()], ..Self::default() }
    }

    /// Adds a recipient to To.
    pub fn also_to(mut self, address: impl Into<Mailbox>) -> Self {
        self.to.push(address.into());
        self
    }

    /// Adds a recipient to Cc.
    pub fn cc(mut self, address: impl Into<Mailbox>) -> Self {
        self.cc.push(address.into());
        self
    }

    /// Adds a blind copy recipient, whom the other recipients do not see.
    pub fn bcc(mut self, address: impl Into<Mailbox>) -> Self {
        self.bcc.push(address.into());
        self
    }

    /// Sets the sender. Default: the sender of the lane.
    pub fn from(mut self, address: impl Into<Mailbox>) -> Self {
        self.from = Some(address.into());
        self
    }

    /// Sets the address for replies. Default: none.
    pub fn reply_to(mut self, address: impl Into<Mailbox>) -> Self {
        self.reply_to = Some(address.into());
        self
    }

    /// Sets the subject. With a template, it replaces the subject of the template.
    pub fn subject(mut self, subject: impl Into<String>) -> Self {
        self.subject = subject.into();
        self
    }

    /// Sets the plain text body. It cannot be combined with a template.
    pub fn text(mut self, body: impl Into<String>) -> Self {
        self.text = Some(body.into());
        self
    }

    /// Sets the HTML body. It cannot be combined with a template.
    pub fn html(mut self, body: impl Into<String>) -> Self {
        self.html = Some(body.into());
        self
    }

    /// Sets a custom header, such as `List-Unsubscribe`. Its value may have up to 16 KiB.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.insert(name.into(), value.into());
        self
    }

    /// Adds an attachment, at most 100 per mail.
    pub fn attach(mut self, attachment: Attachment) -> Self {
        self.attachments.push(attachment);
        self
    }

    /// Uses a template of the lane instead of bodies.
    pub fn template(mut self, name: impl Into<String>) -> Self {
        self.template = Some(name.into());
        self
    }

    /// Sets the variables of the template: a struct or a map.
    pub fn variables(mut self, variables: &impl Serialize) -> Self {
        self.variables = Some(serde_json::to_value(variables).map_err(|problem| problem.to_string()));
        self
    }

    /// Sets the language of the template, such as `de-AT`.
    pub fn locale(mut self, locale: impl Into<String>) -> Self {
        self.locale = Some(locale.into());
        self
    }

    /// Sets the idempotency key: a second mail with the same key is not inserted. The Message-ID is derived from it.
    pub fn idempotency_key(mut self, key: impl Into<String>) -> Self {
        self.idempotency_key = Some(key.into());
        self
    }

    /// Sets the priority. Higher values are sent first if the lane orders by priority.
    pub fn priority(mut self, priority: i32) -> Self {
        self.priority = Some(priority);
        self
    }

    /// Delays sending by this time, measured by the clock of the database.
    pub fn delay(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
        self
    }

    /// Sets the earliest time of sending.
    pub fn not_before(mut self, moment: SystemTime) -> Self {
        self.due = Due::At(moment);
        self
    }

    /// Sets the id of the row, for tables that do not generate one.
    pub fn id(mut self, id: impl Into<String>) -> Self {
        self.id = Some(id.into());
        self
    }

    /// Inserts the mail into the reference table, in the transaction that is open on `connection`.
    ///
    /// Fails if a value is invalid, before a statement is sent, or if the database refuses the insert.
    pub async fn enqueue<C: Connection>(&self, connection: &mut C) -> Result<Enqueued, Error> {
        self.enqueue_into(&Table::mail_outbox(), connection).await
    }

    /// Inserts the mail into a table with other names, in the transaction that is open on `connection`.
    pub async fn enqueue_into<C: Connection>(
        &self,
        table: &Table,
        connection: &mut C,
    ) -> Result<Enqueued, Error> {
        let insert = self.insert(table)?;
        connection.insert(&insert).await
    }

    fn insert<'a>(&'a self, table: &'a Table) -> Result<Insert<'a>, Error> {
        let mut insert = Insert::new(table);
        self.set_addresses(&mut insert)?;
        check::line("subject", &self.subject)?;
        insert.text("subject", &self.subject)?;
        self.set_bodies(&mut insert)?;
        self.set_headers(&mut insert)?;
        if let Some(id) = &self.id {
            check::short("id", id, KEY_LIMIT)?;
            insert.id(id)?;
        }
        if let Some(key) = &self.idempotency_key {
            check::short("idempotency_key", key, KEY_LIMIT)?;
            insert.dedupe(key)?;
        }
        if let Some(priority) = self.priority {
            insert.int("priority", priority.into())?;
        }
        insert.due(self.due)?;
        Ok(insert)
    }

    fn set_addresses(&self, insert: &mut Insert<'_>) -> Result<(), Error> {
        insert.owned_text("to", mailbox::json("to", &self.to)?)?;
        for (field, list) in [("cc", &self.cc), ("bcc", &self.bcc)] {
            if !list.is_empty() {
                insert.owned_text(field, mailbox::json(field, list)?)?;
            }
        }
        for (field, one) in [("from", &self.from), ("reply_to", &self.reply_to)] {
            if let Some(one) = one {
                insert.owned_text(field, mailbox::json(field, std::slice::from_ref(one))?)?;
            }
        }
        Ok(())
    }

    fn set_bodies<'a>(&'a self, insert: &mut Insert<'a>) -> Result<(), Error> {
        let has_body = self.text.is_some() || self.html.is_some();
        match &self.template {
            Some(_) if has_body => return Err(Error::TemplateAndBody),
            Some(template) => {
                check::short("template", template, TEMPLATE_LIMIT)?;
                insert.text("template", template)?;
            }
            None if self.variables.is_some() => return Err(Error::NoTemplate),
            None if !has_body && self.attachments.is_empty() => return Err(Error::NoBody),
            None => {}
        }
        for (field, body) in [("text", &self.text), ("html", &self.html)] {
            if let Some(body) = body {
                check::long(field, body)?;
                insert.text(field, body)?;
            }
        }
        if let Some(locale) = &self.locale {
            check::short("locale", locale, LOCALE_LIMIT)?;
            insert.text("locale", locale)?;
        }
        match &self.variables {
            None => Ok(()),
            Some(Ok(variables @ Value::Object(_))) => insert.owned_text("variables", variables.to_string()),
            Some(Ok(_)) => Err(Error::Variables),
            Some(Err(problem)) => {
                Err(Error::Json { field: "variables", source: serde::ser::Error::custom(problem) })
            }
        }
    }

    fn set_headers(&self, insert: &mut Insert<'_>) -> Result<(), Error> {
        for (name, value) in &self.headers {
            check::header_name(name)?;
            check::line(&format!("header {name}"), value)?;
            if value.len() > HEADER_LIMIT {
                return Err(Error::Header { name: name.clone(), why: "its value is longer than 16 KiB" });
            }
        }
        if !self.headers.is_empty() {
            insert.owned_text("headers", serde_json::json!(self.headers).to_string())?;
        }
        if !self.attachments.is_empty() {
            insert.owned_text("attachments", attachment::json(&self.attachments)?)?;
        }
        Ok(())
    }
}

/// Omits bodies and addresses, because more people read logs than tables.
impl fmt::Debug for Mail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Mail")
            .field("recipients", &(self.to.len() + self.cc.len() + self.bcc.len()))
            .field("template", &self.template)
            .field("idempotency_key", &self.idempotency_key)
            .field("due", &self.due)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
