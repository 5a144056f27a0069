//! The audit log: who changed what, and when. An entry is written in the transaction of its change.

use std::sync::Arc;

use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Actor;
use crate::cursor::{List, ListOrder, PagePosition};
use crate::group_commit::{WriteTogether, shared_error};
use crate::page::{Page, PageQuery};
use crate::sql::{
    Clauses as _, Dialect, Execute, Insert, NewRow, RowReader, Statement, Table, columns, source_column, tsid,
};
use crate::{Error, Hub, Moment};

const TABLE: Table = Table {
    name: "postrider_audit",
    columns: columns![id, at: Time, key_id, key_name, role, action, entity, entity_id, client_id, detail],
};

/// One entry of the audit log.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AuditEntry {
    /// Id of the entry.
    pub id: String,
    /// When the change was made.
    pub at: Option<Moment>,
    /// Id of the API key that made the change. Null: Postrider itself, or the command line.
    pub key_id: Option<String>,
    /// Name of the API key at that time.
    pub key_name: Option<String>,
    /// Role of the API key at that time.
    pub role: Option<String>,
    /// What was done: `create`, `retry`, `cancel`, `pause`, …
    pub action: String,
    /// What kind of thing was changed: `dispatchJob`, `subscription`, `lane`, …
    pub entity: String,
    /// Id of what was changed; the name of a lane.
    pub entity_id: String,
    /// Client that it belongs to. Null: no client, or several.
    pub client_id: Option<String>,
    /// Further values, depending on the action.
    #[schema(value_type = Option<Object>)]
    pub detail: Option<serde_json::Value>,
}

/// A change to be written to the audit log.
#[derive(Debug, Clone)]
pub struct Change {
    action: &'static str,
    entity: &'static str,
    id: String,
    client: Option<String>,
    detail: serde_json::Map<String, serde_json::Value>,
}

impl Change {
    /// Creates the entry of an action, such as `pause`, on an entity, such as `subscription`, with this id.
    pub fn new(action: &'static str, entity: &'static str, id: &str) -> Self {
        Self { action, entity, id: id.to_owned(), client: None, detail: serde_json::Map::new() }
    }

    /// Sets the client that the changed entity belongs to; `None` if it belongs to no client, or to several.
    #[must_use]
    pub fn of_client(mut self, client: Option<&str>) -> Self {
        self.client = client.map(str::to_owned);
        self
    }

    /// Adds a further value to the entry. It must never be a secret.
    #[must_use]
    pub fn detail(mut self, name: &str, value: impl Into<serde_json::Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    /// Returns the statement that writes the entry.
    pub(crate) fn entry(self, dialect: Dialect, actor: &Actor) -> Statement {
        insert_entries(dialect, vec![self.row(Some(actor))], None)
    }

    /// Returns an entry that is written only if the row exists, for an insert in the same transaction that may have
    /// been skipped.
    pub(crate) fn entry_if_exists(self, dialect: Dialect, actor: &Actor, table: &str) -> Statement {
        self.entry_if(dialect, actor, table, "1 = 1")
    }

    /// Returns an entry that is written only if the row now fulfils the `condition` on `m`, so that a late change
    /// leaves none.
    pub(crate) fn entry_if(self, dialect: Dialect, actor: &Actor, table: &str, condition: &str) -> Statement {
        insert_entries(dialect, vec![self.row(Some(actor))], Some(exists(dialect, table, condition)))
    }

    /// Returns an entry that is written only if the row no longer exists, for a delete in the same transaction.
    pub(crate) fn entry_if_deleted(self, dialect: Dialect, actor: &Actor, table: &str) -> Statement {
        let deleted = format!("NOT {}", exists(dialect, table, "1 = 1"));
        insert_entries(dialect, vec![self.row(Some(actor))], Some(deleted))
    }

    /// Returns the statement that writes the entry of a change that no caller requested.
    pub(crate) fn system_entry(self, dialect: Dialect) -> Statement {
        insert_entries(dialect, vec![self.row(None)], None)
    }

    fn row(self, actor: Option<&Actor>) -> NewRow {
        let detail = (!self.detail.is_empty()).then(|| serde_json::Value::Object(self.detail).to_string());
        NewRow::new()
            .text("id", tsid())
            .text("key_id", actor.and_then(Actor::key_id))
            .text("key_name", actor.map(|actor| actor.name.clone()))
            .text("role", actor.map(|actor| actor.role.name().to_owned()))
            .text("action", self.action.to_owned())
            .text("entity", self.entity.to_owned())
            .text("entity_id", self.id)
            .text("client_id", self.client)
            .text("detail", detail)
    }
}

/// Entries for created rows (actor, id, client). With a table, each is written only if its row exists: a row whose key
/// was already in use was not inserted.
pub(crate) fn created_entries<'a>(
    dialect: Dialect,
    entity: &'static str,
    table: Option<&str>,
    rows: impl Iterator<Item = (&'a Actor, &'a str, Option<&'a str>)>,
) -> Statement {
    let entry = |(actor, id, client)| Change::new("create", entity, id).of_client(client).row(Some(actor));
    insert_entries(dialect, rows.map(entry).collect(), table.map(|table| exists(dialect, table, "1 = 1")))
}

/// The SQL condition that the job `m` is due for another attempt.
pub(crate) const RETRY_IS_DUE: &str = "m.status = 'ERROR' AND m.next_attempt_at IS NOT NULL";

/// Entries for retried jobs, each written only if the job is now due for another attempt.
pub(crate) fn retried_entries<'a>(
    dialect: Dialect,
    actor: &Actor,
    jobs: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Statement {
    let entry = |(id, client)| Change::new("retry", "dispatchJob", id).of_client(client).row(Some(actor));
    let due = exists(dialect, "dispatch_jobs", RETRY_IS_DUE);
    insert_entries(dialect, jobs.map(entry).collect(), Some(due))
}

/// The condition that the row `m` that an entry is about exists and fulfils `condition`.
fn exists(dialect: Dialect, table: &str, condition: &str) -> String {
    let id = source_column(dialect, "entity_id");
    format!("EXISTS (SELECT 1 FROM {table} AS m WHERE m.id = {id} AND {condition})")
}

fn insert_entries(dialect: Dialect, rows: Vec<NewRow>, condition: Option<String>) -> Statement {
    Insert::into(TABLE.name).only(condition).rows(dialect, rows)
}

/// Writes entries of single requests together.
pub(crate) struct AuditWriter(pub Arc<dyn Execute>);

impl WriteTogether for AuditWriter {
    type Request = NewRow;
    type Answer = ();
    type Error = Error;

    fn bytes(_: &NewRow) -> usize {
        // An entry is small.
        0
    }

    async fn write(&self, entries: Vec<NewRow>) -> Vec<Result<(), Error>> {
        let count = entries.len();
        let statement = insert_entries(self.0.dialect(), entries, None);
        match self.0.transact("write the audit log", &[statement]).await {
            Ok(_) => std::iter::repeat_with(|| Ok(())).take(count).collect(),
            Err(error) => shared_error(error.into(), count),
        }
    }
}

impl Hub {
    /// Writes an entry for a change that was made outside the hub, such as pausing a lane. Entries of concurrent
    /// requests share a transaction.
    pub async fn write_audit_entry(&self, actor: &Actor, change: Change) -> Result<(), Error> {
        self.audit_commits.write(change.row(Some(actor))).await
    }

    /// Returns a page of the audit log within the actor's scope, newest first, optionally of one kind or one entity.
    pub async fn audit(
        &self,
        actor: &Actor,
        entity: Option<&str>,
        entity_id: Option<&str>,
        page: &PageQuery,
    ) -> Result<Page<AuditEntry>, Error> {
        let list = List {
            doing: "read the audit log",
            context: &format!("audit\n{}\n{}", entity.unwrap_or_default(), entity_id.unwrap_or_default()),
            order: ListOrder::Id,
            read,
            position: |entry| PagePosition::of_id(&entry.id),
        };
        let query = self.select(&TABLE).and_equals("entity", entity).and_equals("entity_id", entity_id);
        self.read_page(actor, page, query.and_in_scope(&actor.scope), list).await
    }
}

fn read(mut row: RowReader) -> AuditEntry {
    AuditEntry {
        id: row.required_text(),
        at: row.time(),
        key_id: row.text(),
        key_name: row.text(),
        role: row.text(),
        action: row.required_text(),
        entity: row.required_text(),
        entity_id: row.required_text(),
        client_id: row.text(),
        detail: row.json(),
    }
}
