//! Subscriptions as the API returns them, and the queries that read and list them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use super::DataFilter;
use crate::access::Actor;
use crate::check::is_id;
use crate::draft::Draft;
use crate::job::{DispatchMode, named};
use crate::page::{Page, PageQuery};
use crate::pool::listed;
use crate::sheet::{Kind, Reader, Sheet};
use crate::{Error, Hub, Moment, mask};

pub(crate) const SHEET: Sheet = Sheet {
    table: "dispatch_subscriptions",
    columns: &[
        ("id", Kind::Text),
        ("code", Kind::Text),
        ("name", Kind::Text),
        ("description", Kind::Text),
        ("client_id", Kind::Text),
        ("event_code", Kind::Text),
        ("source_prefix", Kind::Text),
        ("filters", Kind::Text),
        ("target_url", Kind::Text),
        ("headers", Kind::Text),
        ("service_account_id", Kind::Text),
        ("dispatch_pool_id", Kind::Text),
        ("mode", Kind::Text),
        ("sequence", Kind::Int),
        ("data_only", Kind::Flag),
        ("timeout_seconds", Kind::Int),
        ("max_retries", Kind::Int),
        ("retry_strategy", Kind::Text),
        ("expires_after_seconds", Kind::Int),
        ("honours_ack", Kind::Flag),
        ("active", Kind::Flag),
        ("paused", Kind::Flag),
        ("paused_reason", Kind::Text),
        ("created_at", Kind::Time),
        ("updated_at", Kind::Time),
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
        const ABSENT: Error = Error::Absent("subscription");
        if !is_id(id) {
            return Err(ABSENT);
        }
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE t.id = ").text(id);
        let found = self.first("read a subscription", query).await?.map(|row| shown(actor, row));
        found.filter(|found| actor.scope.covers(found.client_id.as_deref())).ok_or(ABSENT)
    }

    /// Returns a page of subscriptions within the actor's scope, newest first, with secret headers masked.
    pub async fn subscriptions(&self, actor: &Actor, page: &PageQuery) -> Result<Page<Subscription>, Error> {
        let after = self.opened(actor, "subscriptions", page)?;
        let query = Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE 1 = 1");
        let query = listed(query, actor, after.as_ref(), page);
        let found = self.all("list subscriptions", query).await?.into_iter();
        let found = found.map(|row| shown(actor, row)).collect();
        Ok(self.closed(actor, "subscriptions", page, found, |one: &Subscription| (None, one.id.clone())))
    }
}

/// Reads a subscription and masks the headers that the actor may not see.
fn shown(actor: &Actor, row: Vec<postrider_seams::row::Value>) -> Subscription {
    let mut found = read(row);
    mask::headers(actor, false, &mut found.headers);
    found
}

pub(crate) fn read(row: Vec<postrider_seams::row::Value>) -> Subscription {
    let mut row = Reader::new(row);
    let mut readable = true;
    let mut found = Subscription {
        id: row.word(),
        code: row.word(),
        name: row.word(),
        description: row.text(),
        client_id: row.text(),
        event_code: row.word(),
        source_prefix: row.text(),
        filters: row.json_in(&mut readable),
        target_url: row.word(),
        headers: row.json_in(&mut readable),
        service_account_id: row.text(),
        dispatch_pool_id: row.text(),
        mode: named(&row.word()).unwrap_or(DispatchMode::Unknown),
        sequence: row.int().unwrap_or_default(),
        data_only: row.flag(),
        timeout_seconds: row.int().unwrap_or_default(),
        max_retries: row.int().unwrap_or_default(),
        retry_strategy: row.word(),
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
