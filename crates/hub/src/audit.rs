//! The audit log: who changed what, and when. An entry is written in the transaction of its change.

use postrider_sql::Dialect;
use postrider_sql::bind::tsid;
use postrider_sql::plain::Statement;
use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Actor, Scope};
use crate::draft::Draft;
use crate::page::{Page, PageQuery};
use crate::sheet::{Fresh, Insert, Kind, Reader, Sheet, given};
use crate::{Error, Hub, Moment};

const SHEET: Sheet = Sheet {
    table: "postrider_audit",
    columns: &[
        ("id", Kind::Text),
        ("at", Kind::Time),
        ("key_id", Kind::Text),
        ("key_name", Kind::Text),
        ("role", Kind::Text),
        ("action", Kind::Text),
        ("entity", Kind::Text),
        ("entity_id", Kind::Text),
        ("client_id", Kind::Text),
        ("detail", Kind::Text),
    ],
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

    pub(crate) fn by(self, dialect: Dialect, actor: &Actor) -> Statement {
        lines(dialect, vec![self.row(Some(actor))], None)
    }

    /// An entry that is written only if the row exists, for an insert in the same transaction that may have been
    /// skipped.
    pub(crate) fn if_made(self, dialect: Dialect, actor: &Actor, table: &str) -> Statement {
        lines(dialect, vec![self.row(Some(actor))], Some(format!("EXISTS {}", same(dialect, table))))
    }

    /// An entry that is written only if the row now fulfils the condition `is` on `m`, so that a late change leaves
    /// none.
    pub(crate) fn if_now(self, dialect: Dialect, actor: &Actor, table: &str, is: &str) -> Statement {
        let row = format!(
            "EXISTS (SELECT 1 FROM {table} AS m WHERE m.id = {} AND {is})",
            given(dialect, "entity_id")
        );
        lines(dialect, vec![self.row(Some(actor))], Some(row))
    }

    /// An entry that is written only if the row no longer exists, for a delete in the same transaction.
    pub(crate) fn if_gone(self, dialect: Dialect, actor: &Actor, table: &str) -> Statement {
        lines(dialect, vec![self.row(Some(actor))], Some(format!("NOT EXISTS {}", same(dialect, table))))
    }

    pub(crate) fn by_nobody(self, dialect: Dialect) -> Statement {
        lines(dialect, vec![self.row(None)], None)
    }

    fn row(self, actor: Option<&Actor>) -> Fresh {
        let detail = (!self.detail.is_empty()).then(|| serde_json::Value::Object(self.detail).to_string());
        Fresh::new()
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

/// Entries for created rows (actor, id, client), each written only if its row exists: a row whose key was already in
/// use was not inserted.
pub(crate) fn made<'a>(
    dialect: Dialect,
    entity: &'static str,
    table: &str,
    made: impl Iterator<Item = (&'a Actor, &'a str, Option<&'a str>)>,
) -> Statement {
    let line = |(actor, id, client)| Change::new("create", entity, id).of_client(client).row(Some(actor));
    lines(dialect, made.map(line).collect(), Some(format!("EXISTS {}", same(dialect, table))))
}

/// The SQL condition that the job `m` is due for another attempt.
pub(crate) const GOES: &str = "m.status = 'ERROR' AND m.next_attempt_at IS NOT NULL";

/// Entries for retried jobs, each written only if the job is now due for another attempt.
pub(crate) fn retried<'a>(
    dialect: Dialect,
    actor: &Actor,
    jobs: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Statement {
    let line = |(id, client)| Change::new("retry", "dispatchJob", id).of_client(client).row(Some(actor));
    let id = given(dialect, "entity_id");
    let goes = format!("EXISTS (SELECT 1 FROM dispatch_jobs AS m WHERE m.id = {id} AND {GOES})");
    lines(dialect, jobs.map(line).collect(), Some(goes))
}

/// A subquery for the row that an entry is about.
fn same(dialect: Dialect, table: &str) -> String {
    format!("(SELECT 1 FROM {table} AS m WHERE m.id = {})", given(dialect, "entity_id"))
}

fn lines(dialect: Dialect, rows: Vec<Fresh>, only: Option<String>) -> Statement {
    let columns: Vec<_> = SHEET.columns.iter().filter(|(name, _)| *name != "at").copied().collect();
    Insert { table: SHEET.table, columns: &columns, only, ..Insert::default() }.rows(dialect, rows)
}

impl Hub {
    /// Writes an entry for a change that was made outside the hub, such as pausing a lane.
    pub async fn note(&self, actor: &Actor, change: Change) -> Result<(), Error> {
        self.run("write the audit log", vec![change.by(self.dialect(), actor)]).await?;
        Ok(())
    }

    /// Returns a page of the audit log within the actor's scope, newest first, optionally of one kind or one entity.
    pub async fn audit(
        &self,
        actor: &Actor,
        entity: Option<&str>,
        entity_id: Option<&str>,
        page: &PageQuery,
    ) -> Result<Page<AuditEntry>, Error> {
        let dialect = self.dialect();
        let about = format!("audit\n{}\n{}", entity.unwrap_or_default(), entity_id.unwrap_or_default());
        let after = self.opened(actor, &about, page)?;
        let mut query = Draft::new(dialect, SHEET.selected(dialect)).push(" WHERE 1 = 1");
        if let Some(entity) = entity {
            query = query.push(" AND t.entity = ").text(entity);
        }
        if let Some(id) = entity_id {
            query = query.push(" AND t.entity_id = ").text(id);
        }
        if let Scope::Only(clients) = &actor.scope {
            query = query.push(" AND t.client_id IN ").texts(clients.iter().map(String::as_str));
        }
        if let Some(after) = &after {
            query = query.push(" AND t.id < ").text(&after.id);
        }
        let query = query.push(" ORDER BY t.id DESC LIMIT ").int(page.wanted() + 1);
        let entries = self.all("read the audit log", query).await?.into_iter().map(read).collect();
        Ok(self.closed(actor, &about, page, entries, |entry: &AuditEntry| (None, entry.id.clone())))
    }
}

fn read(row: Vec<postrider_seams::row::Value>) -> AuditEntry {
    let mut row = Reader::new(row);
    AuditEntry {
        id: row.word(),
        at: row.time(),
        key_id: row.text(),
        key_name: row.text(),
        role: row.text(),
        action: row.word(),
        entity: row.word(),
        entity_id: row.word(),
        client_id: row.text(),
        detail: row.text().and_then(|text| serde_json::from_str(&text).ok()),
    }
}
