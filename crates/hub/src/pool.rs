//! Dispatch pools: limits of concurrent deliveries and deliveries per minute, over all instances together.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::access::Actor;
use crate::audit::Change;
use crate::cursor::{List, ListOrder, PagePosition};
use crate::page::{Page, PageQuery};
use crate::sql::{Clauses as _, NewRow, RowReader, Table, columns, tsid};
use crate::validation::Faults;
use crate::{Error, Hub, Moment};

const TABLE: Table = Table {
    name: "dispatch_pools",
    columns: columns![
        id, code, name, description, client_id, concurrency: Int, rate_per_minute: Int, paused: Flag,
        created_at: Time, updated_at: Time,
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
    #[schema(max_length = 255, format = "line")]
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
    #[schema(max_length = 255, format = "line")]
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
        faults.optional_text("description", self.description.as_deref(), 2000);
        faults.optional_range("concurrency", self.concurrency, 1..=100_000);
        faults.optional_range("ratePerMinute", self.rate_per_minute, 1..=10_000_000);
    }

    fn set(&self, row: NewRow) -> NewRow {
        row.text("name", self.name.clone())
            .text("description", self.description.clone())
            .int("concurrency", self.concurrency)
            .int("rate_per_minute", self.rate_per_minute)
    }
}

impl Hub {
    /// Creates a pool. Fails if the code is already in use, or if the actor may not act for the client.
    pub async fn create_pool(&self, actor: &Actor, new: NewPool) -> Result<DispatchPool, Error> {
        let mut faults = Faults::default();
        faults.slug("code", &new.code, 128);
        faults.optional_slug("clientId", new.client_id.as_deref(), 64);
        let NewPool { code, name, description, client_id, concurrency, rate_per_minute } = new;
        let limits = PoolChange { name, description, concurrency, rate_per_minute };
        limits.check(&mut faults);
        faults.finish()?;
        let (id, client) = (tsid(), actor.client_for(client_id)?);
        let change = Change::new("create", "pool", &id).of_client(client.as_deref());
        let row = NewRow::new().text("id", id.clone()).text("code", code).text("client_id", client);
        let row = limits.set(row).flag("paused", false);
        self.insert_with_code("create a dispatch pool", (&TABLE, &id), row, actor, change).await?;
        self.pool(actor, &id).await
    }

    /// Returns one pool by its id; an error if it does not exist or its client is outside the actor's scope.
    pub async fn pool(&self, actor: &Actor, id: &str) -> Result<DispatchPool, Error> {
        let found = self.fetch_by_id("read a dispatch pool", &TABLE, id).await?.map(read);
        let found = found.filter(|pool| actor.scope.covers(pool.client_id.as_deref()));
        found.ok_or(Error::NotFound("dispatch pool"))
    }

    /// Returns a page of pools within the actor's scope, newest first.
    pub async fn pools(&self, actor: &Actor, page: &PageQuery) -> Result<Page<DispatchPool>, Error> {
        let list = List {
            doing: "list dispatch pools",
            context: "pools",
            order: ListOrder::Id,
            read,
            position: |pool| PagePosition::of_id(&pool.id),
        };
        self.read_page(actor, page, self.select(&TABLE).and_in_scope(&actor.scope), list).await
    }

    /// Replaces the members of a pool that can be changed. Limits that are left out are removed.
    pub async fn change_pool(
        &self,
        actor: &Actor,
        id: &str,
        change: &PoolChange,
    ) -> Result<DispatchPool, Error> {
        let mut faults = Faults::default();
        change.check(&mut faults);
        faults.finish()?;
        let pool = self.pool(actor, id).await?;
        self.update_pool(actor, &pool, "change", change.set(NewRow::new())).await
    }

    /// Pauses or resumes a pool. Jobs of a paused pool wait and use no attempt.
    pub async fn pause_pool(&self, actor: &Actor, id: &str, paused: bool) -> Result<DispatchPool, Error> {
        let pool = self.pool(actor, id).await?;
        let action = if paused { "pause" } else { "resume" };
        self.update_pool(actor, &pool, action, NewRow::new().flag("paused", paused)).await
    }

    async fn update_pool(
        &self,
        actor: &Actor,
        pool: &DispatchPool,
        action: &'static str,
        row: NewRow,
    ) -> Result<DispatchPool, Error> {
        let change = Change::new(action, "pool", &pool.id).of_client(pool.client_id.as_deref());
        let (update, entry) = (self.update(&TABLE, row), change.entry(self.dialect(), actor));
        self.update_by_id("change a dispatch pool", &pool.id, update, entry).await?;
        self.pool(actor, &pool.id).await
    }
}

fn read(mut row: RowReader) -> DispatchPool {
    DispatchPool {
        id: row.required_text(),
        code: row.required_text(),
        name: row.required_text(),
        description: row.text(),
        client_id: row.text(),
        concurrency: row.int(),
        rate_per_minute: row.int(),
        paused: row.flag(),
        created_at: row.time(),
        updated_at: row.time(),
    }
}
