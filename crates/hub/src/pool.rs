//! Dispatch pools: limits of concurrent deliveries and deliveries per minute, over all instances together.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::{Actor, Scope};
use crate::audit::Change;
use crate::check::{Faults, is_id};
use crate::cursor::After;
use crate::draft::Draft;
use crate::page::{Page, PageQuery};
use crate::sheet::{Fresh, Insert, Kind, Reader, Sheet, now};
use crate::{Error, Hub, Moment};

const ABSENT: Error = Error::Absent("dispatch pool");

const SHEET: Sheet = Sheet {
    table: "dispatch_pools",
    columns: &[
        ("id", Kind::Text),
        ("code", Kind::Text),
        ("name", Kind::Text),
        ("description", Kind::Text),
        ("client_id", Kind::Text),
        ("concurrency", Kind::Int),
        ("rate_per_minute", Kind::Int),
        ("paused", Kind::Flag),
        ("created_at", Kind::Time),
        ("updated_at", Kind::Time),
    ],
};

/// Limits that apply to all jobs of the pool together, over all instances.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct DispatchPool {
    /// Id of the pool.
    pub id: String,
    /// Code of the pool; unique per client.
    pub code: String,
    /// Display name.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Client whose jobs may use the pool. Null: all clients.
    pub client_id: Option<String>,
    /// Maximum number of deliveries at the same time. Null: no limit.
    pub concurrency: Option<i64>,
    /// Maximum number of deliveries per minute. Null: no limit.
    pub rate_per_minute: Option<i64>,
    /// Whether the jobs of the pool wait. Waiting uses no attempt.
    pub paused: bool,
    /// When the pool was created.
    pub created_at: Option<Moment>,
    /// When the pool was last changed.
    pub updated_at: Option<Moment>,
}

/// A pool to create.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NewPool {
    /// Code of the pool; unique per client. It cannot be changed later.
    #[schema(min_length = 1, max_length = 128, pattern = "^[A-Za-z0-9._-]{1,128}$")]
    pub code: String,
    /// Display name.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub name: String,
    /// Free text. Default: none.
    #[schema(max_length = 2000, pattern = r"^[^\u0000]*$")]
    pub description: Option<String>,
    /// Client whose jobs may use the pool. Default: the client of the API key if it has exactly one, otherwise all
    /// clients.
    #[schema(min_length = 1, max_length = 64, pattern = "^[A-Za-z0-9._-]{1,64}$")]
    pub client_id: Option<String>,
    /// Maximum number of deliveries at the same time. Default: no limit.
    #[schema(minimum = 1, maximum = 100_000)]
    pub concurrency: Option<i64>,
    /// Maximum number of deliveries per minute. Default: no limit.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub rate_per_minute: Option<i64>,
}

/// The members of a pool that can be changed. They replace the present ones.
#[derive(Debug, Clone, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolChange {
    /// Display name.
    #[schema(
        min_length = 1,
        max_length = 255,
        pattern = r"^[^\u0000-\u0020\u007f-\u009f]([^\u0000-\u001f\u007f-\u009f]*[^\u0000-\u0020\u007f-\u009f])?$"
    )]
    pub name: String,
    /// Free text. Default: none.
    #[schema(max_length = 2000, pattern = r"^[^\u0000]*$")]
    pub description: Option<String>,
    /// Maximum number of deliveries at the same time. Default: no limit.
    #[schema(minimum = 1, maximum = 100_000)]
    pub concurrency: Option<i64>,
    /// Maximum number of deliveries per minute. Default: no limit.
    #[schema(minimum = 1, maximum = 10_000_000)]
    pub rate_per_minute: Option<i64>,
}

impl PoolChange {
    fn check(&self, faults: &mut Faults) {
        faults.line("name", &self.name, 255);
        if let Some(description) = &self.description {
            faults.text("description", description, 2000);
        }
        if let Some(concurrency) = self.concurrency {
            faults.range("concurrency", concurrency, 1..=100_000);
        }
        if let Some(rate) = self.rate_per_minute {
            faults.range("ratePerMinute", rate, 1..=10_000_000);
        }
    }
}

impl Hub {
    /// Creates a pool. Fails if the code is already in use, or if the actor may not act for the client.
    pub async fn create_pool(&self, actor: &Actor, new: NewPool) -> Result<DispatchPool, Error> {
        let mut faults = Faults::default();
        faults.slug("code", &new.code, 128);
        faults.maybe_slug("clientId", new.client_id.as_deref(), 64);
        let (name, description) = (new.name, new.description);
        let what = PoolChange {
            name,
            description,
            concurrency: new.concurrency,
            rate_per_minute: new.rate_per_minute,
        };
        what.check(&mut faults);
        faults.end()?;
        let client = actor.client_for(new.client_id)?;
        let (dialect, id) = (self.dialect(), postrider_sql::bind::tsid());
        let row = Fresh::new()
            .text("id", id.clone())
            .text("code", new.code)
            .text("name", what.name)
            .text("description", what.description)
            .text("client_id", client.clone())
            .int("concurrency", what.concurrency)
            .int("rate_per_minute", what.rate_per_minute)
            .flag("paused", false);
        let columns = &SHEET.columns[..8];
        let insert = Insert { table: SHEET.table, columns, or_nothing: true, ..Insert::default() };
        let change = Change::new("create", "pool", &id).of_client(client.as_deref());
        self.insert_once(
            "create a dispatch pool",
            insert.rows(dialect, vec![row]),
            SHEET.table,
            &id,
            change.if_made(dialect, actor, SHEET.table),
        )
        .await?;
        self.pool(actor, &id).await
    }

    /// Returns one pool by its id; an error if it does not exist or its client is outside the actor's scope.
    pub async fn pool(&self, actor: &Actor, id: &str) -> Result<DispatchPool, Error> {
        if !is_id(id) {
            return Err(ABSENT);
        }
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE t.id = ").text(id);
        let found = self.first("read a dispatch pool", query).await?.map(read);
        found.filter(|pool| actor.scope.covers(pool.client_id.as_deref())).ok_or(ABSENT)
    }

    /// Returns a page of pools within the actor's scope, newest first.
    pub async fn pools(&self, actor: &Actor, page: &PageQuery) -> Result<Page<DispatchPool>, Error> {
        let after = self.opened(actor, "pools", page)?;
        let query = Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE 1 = 1");
        let query = listed(query, actor, after.as_ref(), page);
        let pools = self.all("list dispatch pools", query).await?.into_iter().map(read).collect();
        Ok(self.closed(actor, "pools", page, pools, |pool: &DispatchPool| (None, pool.id.clone())))
    }

    /// Replaces the members of a pool that can be changed. Limits that are left out are removed.
    pub async fn change_pool(
        &self,
        actor: &Actor,
        id: &str,
        what: &PoolChange,
    ) -> Result<DispatchPool, Error> {
        let mut faults = Faults::default();
        what.check(&mut faults);
        faults.end()?;
        let pool = self.pool(actor, id).await?;
        let update = Draft::new(self.dialect(), "UPDATE dispatch_pools SET name = ")
            .text(&what.name)
            .push(", description = ")
            .maybe(what.description.as_deref())
            .push(", concurrency = ")
            .maybe_int(what.concurrency)
            .push(", rate_per_minute = ")
            .maybe_int(what.rate_per_minute);
        self.update_pool(actor, &pool, "change", update).await
    }

    /// Pauses or resumes a pool. Jobs of a paused pool wait and use no attempt.
    pub async fn pause_pool(&self, actor: &Actor, id: &str, paused: bool) -> Result<DispatchPool, Error> {
        let pool = self.pool(actor, id).await?;
        let update = Draft::new(self.dialect(), "UPDATE dispatch_pools SET paused = ").flag(paused);
        self.update_pool(actor, &pool, if paused { "pause" } else { "resume" }, update).await
    }

    async fn update_pool(
        &self,
        actor: &Actor,
        pool: &DispatchPool,
        action: &'static str,
        update: Draft,
    ) -> Result<DispatchPool, Error> {
        let dialect = self.dialect();
        let update = update.push(", updated_at = ").push(now(dialect)).push(" WHERE id = ").text(&pool.id);
        let change = Change::new(action, "pool", &pool.id).of_client(pool.client_id.as_deref());
        self.run("change a dispatch pool", vec![update.done(), change.by(dialect, actor)]).await?;
        self.pool(actor, &pool.id).await
    }

    /// Inserts one row with a unique `code` and its audit entry; fails with a conflict if the code is in use.
    pub(crate) async fn insert_once(
        &self,
        doing: &str,
        insert: postrider_sql::plain::Statement,
        table: &str,
        id: &str,
        audit: postrider_sql::plain::Statement,
    ) -> Result<(), Error> {
        let find = Draft::new(self.dialect(), format!("SELECT 1 FROM {table} WHERE id = ")).text(id);
        let answers = self.run(doing, vec![insert, audit, find.done()]).await?;
        match answers.last() {
            Some(answer) if !answer.rows.is_empty() => Ok(()),
            _ => Err(Error::conflict("code", "is already in use")),
        }
    }
}

/// Completes the query for a page of resources that belong to clients, newest first.
pub(crate) fn listed(mut query: Draft, actor: &Actor, after: Option<&After>, page: &PageQuery) -> Draft {
    if let Scope::Only(clients) = &actor.scope {
        query = query.push(" AND t.client_id IN ").texts(clients.iter().map(String::as_str));
    }
    if let Some(after) = after {
        query = query.push(" AND t.id < ").text(&after.id);
    }
    query.push(" ORDER BY t.id DESC LIMIT ").int(page.wanted() + 1)
}

fn read(row: Vec<postrider_seams::row::Value>) -> DispatchPool {
    let mut row = Reader::new(row);
    DispatchPool {
        id: row.word(),
        code: row.word(),
        name: row.word(),
        description: row.text(),
        client_id: row.text(),
        concurrency: row.int(),
        rate_per_minute: row.int(),
        paused: row.flag(),
        created_at: row.time(),
        updated_at: row.time(),
    }
}
