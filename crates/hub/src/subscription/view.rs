//! Subscriptions as they are shown, and finding them.

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

#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::struct_excessive_bools, reason = "each is a member of its own in the API")]
pub struct Subscription {
    pub id: String,
    /// Unique per client.
    pub code: String,
    pub name: String,
    pub description: Option<String>,
    /// None: for events of every client.
    pub client_id: Option<String>,
    /// `application:subdomain:aggregate:event`; `*` stands for any part.
    pub event_code: String,
    /// What the event's source starts with.
    pub source_prefix: Option<String>,
    pub filters: Vec<DataFilter>,
    pub target_url: String,
    pub headers: BTreeMap<String, String>,
    pub service_account_id: Option<String>,
    pub dispatch_pool_id: Option<String>,
    pub mode: DispatchMode,
    pub sequence: i64,
    pub data_only: bool,
    pub timeout_seconds: i64,
    pub max_retries: i64,
    pub retry_strategy: String,
    pub expires_after_seconds: Option<i64>,
    /// The receiver may answer 2xx with `{"ack": false, "delaySeconds": n}`: try again later, at no cost.
    pub honours_ack: bool,
    /// Events make jobs.
    pub active: bool,
    /// Its jobs wait, and cost nothing.
    pub paused: bool,
    pub paused_reason: Option<String>,
    pub created_at: Option<Moment>,
    pub updated_at: Option<Moment>,
    /// Its filters, headers and mode could be read. One that can't be read matches no event: without its filters it would
    /// match events that it must not.
    #[serde(skip)]
    pub(crate) readable: bool,
}

impl Hub {
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

    pub async fn subscriptions(&self, actor: &Actor, page: &PageQuery) -> Result<Page<Subscription>, Error> {
        let after = self.opened(actor, "subscriptions", page)?;
        let query = Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE 1 = 1");
        let query = listed(query, actor, after.as_ref(), page);
        let found = self.all("list subscriptions", query).await?.into_iter();
        let found = found.map(|row| shown(actor, row)).collect();
        Ok(self.closed(actor, "subscriptions", page, found, |one: &Subscription| (None, one.id.clone())))
    }
}

/// As this caller may see it.
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
