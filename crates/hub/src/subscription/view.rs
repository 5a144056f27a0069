//! Subscriptions as the API returns them, and the queries that read and list them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::DataFilter;
use crate::access::Actor;
use crate::cursor::{List, ListOrder, PagePosition};
use crate::job::DispatchMode;
use crate::page::{Page, PageQuery};
use crate::sql::{Clauses as _, RowReader, Table, columns};
use crate::{Error, Hub, Moment, mask};

pub(crate) const TABLE: Table = Table {
    name: "dispatch_subscriptions",
    columns: columns![
        id, code, name, description, client_id, event_code, source_prefix, filters, target_url, headers,
        service_account_id, dispatch_pool_id, mode, sequence: Int, data_only: Flag, timeout_seconds: Int,
        max_retries: Int, retry_strategy, expires_after_seconds: Int, honours_ack: Flag, active: Flag, paused: Flag,
        paused_reason, created_at: Time, updated_at: Time,
    ],
};

/// A rule that creates a job for each matching event.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a member of its own in the API")]
pub struct Subscription {
    /// Id of the subscription.
    pub id: String,
    /// Code of the subscription; unique per client.
    pub code: String,
    /// Display name.
    pub name: String,
    /// Free text.
    pub description: Option<String>,
    /// Client whose events match. Null: events of all clients.
    pub client_id: Option<String>,
    /// Event type to match: `application:subdomain:aggregate:event`; `*` matches any value of a part.
    pub event_code: String,
    /// Prefix that the event's `source` must have. Null: any source.
    pub source_prefix: Option<String>,
    /// Conditions on the event's data; all of them must hold.
    pub filters: Vec<DataFilter>,
    /// URL that events are posted to.
    pub target_url: String,
    /// Additional headers of the request.
    pub headers: BTreeMap<String, String>,
    /// Service account that authenticates and signs the requests.
    pub service_account_id: Option<String>,
    /// Pool whose limits apply to the jobs.
    pub dispatch_pool_id: Option<String>,
    /// What a failure means for later jobs of the same message group.
    pub mode: DispatchMode,
    /// Order of its jobs within the message group, lowest first.
    pub sequence: i64,
    /// Whether only the event's data is sent. Otherwise the whole CloudEvent is sent.
    pub data_only: bool,
    /// Time limit of one attempt, in seconds.
    pub timeout_seconds: i64,
    /// Maximum number of attempts of a job.
    pub max_retries: i64,
    /// When failed attempts are retried: `exponential`, `fixed`, `immediate`, or a JSON list of seconds.
    pub retry_strategy: String,
    /// Seconds after which a job that is not delivered ends in `ERROR`. Null: never.
    pub expires_after_seconds: Option<i64>,
    /// Whether the receiver may answer 2xx with `{"ack": false, "delaySeconds": n}` to be called again later. That uses
    /// no attempt.
    pub honours_ack: bool,
    /// Whether events create jobs.
    pub active: bool,
    /// Whether the jobs of the subscription wait. Waiting uses no attempt.
    pub paused: bool,
    /// Why the subscription is paused.
    pub paused_reason: Option<String>,
    /// When the subscription was created.
    pub created_at: Option<Moment>,
    /// When the subscription was last changed.
    pub updated_at: Option<Moment>,
    /// Its filters, headers and mode could be read. One that can't be read matches no event: without its filters it would
    /// match events that it must not.
    #[serde(skip)]
    pub(crate) readable: bool,
}

impl Hub {
    /// Returns one subscription by its id; an error if it does not exist or its client is outside the actor's scope.
    ///
    /// Secret headers are masked for callers below operator.
    pub async fn subscription(&self, actor: &Actor, id: &str) -> Result<Subscription, Error> {
        let found = self.fetch_by_id("read a subscription", &TABLE, id).await?.map(read);
        let found = found.filter(|found| actor.scope.covers(found.client_id.as_deref()));
        let mut found = found.ok_or(Error::NotFound("subscription"))?;
        mask::headers(actor, false, &mut found.headers);
        Ok(found)
    }

    /// Returns a page of subscriptions within the actor's scope, newest first, with secret headers masked.
    pub async fn subscriptions(&self, actor: &Actor, page: &PageQuery) -> Result<Page<Subscription>, Error> {
        let list = List {
            doing: "list subscriptions",
            context: "subscriptions",
            order: ListOrder::Id,
            read,
            position: |found| PagePosition::of_id(&found.id),
        };
        let query = self.select(&TABLE).and_in_scope(&actor.scope);
        let mut page = self.read_page(actor, page, query, list).await?;
        page.items.iter_mut().for_each(|found| mask::headers(actor, false, &mut found.headers));
        Ok(page)
    }
}

pub(crate) fn read(mut row: RowReader) -> Subscription {
    let mut readable = true;
    let mut found = Subscription {
        id: row.required_text(),
        code: row.required_text(),
        name: row.required_text(),
        description: row.text(),
        client_id: row.text(),
        event_code: row.required_text(),
        source_prefix: row.text(),
        filters: row.json_checked(&mut readable),
        target_url: row.required_text(),
        headers: row.json_checked(&mut readable),
        service_account_id: row.text(),
        dispatch_pool_id: row.text(),
        mode: row.required_name_or(DispatchMode::Unknown),
        sequence: row.required_int(),
        data_only: row.flag(),
        timeout_seconds: row.required_int(),
        max_retries: row.required_int(),
        retry_strategy: row.required_text(),
        expires_after_seconds: row.int(),
        honours_ack: row.flag(),
        active: row.flag(),
        paused: row.flag(),
        paused_reason: row.text(),
        created_at: row.time(),
        updated_at: row.time(),
        readable: true,
    };
    found.readable = readable && found.mode != DispatchMode::Unknown;
    found
}
