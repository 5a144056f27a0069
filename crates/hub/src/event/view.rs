//! Events as the API returns them, and the queries that read and list them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::access::{Actor, Scope};
use crate::check::is_id;
use crate::draft::Draft;
use crate::job::beyond;
use crate::page::{Page, PageQuery};
use crate::sheet::{Kind, Reader, Sheet, newest_first};
use crate::{Error, Hub, Moment};

pub(super) const SHEET: Sheet = Sheet {
    table: "dispatch_events",
    columns: &[
        ("id", Kind::Text),
        ("event_id", Kind::Text),
        ("source", Kind::Text),
        ("code", Kind::Text),
        ("subject", Kind::Text),
        ("client_id", Kind::Text),
        ("correlation_id", Kind::Text),
        ("occurred_at", Kind::Time),
        ("data_content_type", Kind::Text),
        ("data_schema", Kind::Text),
        ("extensions", Kind::Text),
        ("data", Kind::Text),
        ("created_at", Kind::Time),
        ("created_by", Kind::Text),
    ],
};

/// An event as it was received.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Event {
    /// Id that Postrider gave the event; jobs have it as `eventId`.
    pub id: String,
    /// The CloudEvent's own `id`.
    pub event_id: String,
    /// The CloudEvent's `source`.
    pub source: String,
    /// The CloudEvent's `type`.
    pub code: String,
    /// The CloudEvent's `subject`.
    pub subject: Option<String>,
    /// Client that the event belongs to.
    pub client_id: Option<String>,
    /// Id that ties related jobs and events together.
    pub correlation_id: Option<String>,
    /// The CloudEvent's `time`.
    pub occurred_at: Option<Moment>,
    /// Media type of `data`.
    pub data_content_type: Option<String>,
    /// The CloudEvent's `dataschema`.
    pub data_schema: Option<String>,
    /// Extension attributes of the CloudEvent.
    #[schema(value_type = BTreeMap<String, Object>)]
    pub extensions: BTreeMap<String, serde_json::Value>,
    /// Data of the event, as text, byte for byte.
    pub data: Option<String>,
    /// When the event was received.
    pub created_at: Option<Moment>,
    /// The key that sent it.
    #[serde(skip)]
    pub created_by: Option<String>,
}

impl Event {
    /// Removes the data if the actor may not read it.
    fn for_caller(mut self, actor: &Actor) -> Self {
        if !actor.may_read_what(self.created_by.as_deref()) {
            self.data = None;
        }
        self
    }
}

/// A filter for lists of events. `None` members match every event.
#[derive(Debug, Clone, Default)]
pub struct EventFilter {
    pub client_id: Option<String>,
    pub code: Option<String>,
    pub created_after: Option<Moment>,
    pub created_before: Option<Moment>,
}

impl Hub {
    /// Returns one event by its id; an error if it does not exist or its client is outside the actor's scope.
    ///
    /// A producer gets the data only of events that its own key sent.
    pub async fn event(&self, actor: &Actor, id: &str) -> Result<Event, Error> {
        const ABSENT: Error = Error::Absent("event");
        if !is_id(id) {
            return Err(ABSENT);
        }
        let query =
            Draft::new(self.dialect(), SHEET.selected(self.dialect())).push(" WHERE t.id = ").text(id);
        let found = self.first("read an event", query).await?.map(read);
        let found = found.filter(|event| actor.scope.covers(event.client_id.as_deref()));
        found.map(|event| event.for_caller(actor)).ok_or(ABSENT)
    }

    /// Returns a page of events within the actor's scope, newest first.
    pub async fn events(
        &self,
        actor: &Actor,
        filter: &EventFilter,
        page: &PageQuery,
    ) -> Result<Page<Event>, Error> {
        let about = format!("events {filter:?}");
        let after = self.opened(actor, &about, page)?;
        let dialect = self.dialect();
        let mut query = Draft::new(dialect, SHEET.selected(dialect)).push(" WHERE 1 = 1");
        for (column, value) in [("client_id", &filter.client_id), ("code", &filter.code)] {
            if let Some(value) = value {
                query = query.push(" AND t.").name(column).push(" = ").text(value);
            }
        }
        if filter.created_after.is_some() {
            query = query.push(" AND t.created_at >= ").time(filter.created_after);
        }
        if filter.created_before.is_some() {
            query = query.push(" AND t.created_at < ").time(filter.created_before);
        }
        if let Scope::Only(clients) = &actor.scope {
            query = query.push(" AND t.client_id IN ").texts(clients.iter().map(String::as_str));
        }
        let query = beyond(query, after.as_ref());
        let kind = filter.client_id.is_some() || filter.code.is_some();
        let order = newest_first(dialect, kind || actor.scope.default_client().is_some());
        let query = query.push(&order).push(" LIMIT ").int(page.wanted() + 1);
        let events = self.all("list events", query).await?.into_iter();
        let events = events.map(|row| read(row).for_caller(actor)).collect();
        Ok(self.closed(actor, &about, page, events, |event: &Event| (event.created_at, event.id.clone())))
    }
}

pub(super) fn read(row: Vec<postrider_seams::row::Value>) -> Event {
    let mut row = Reader::new(row);
    Event {
        id: row.word(),
        event_id: row.word(),
        source: row.word(),
        code: row.word(),
        subject: row.text(),
        client_id: row.text(),
        correlation_id: row.text(),
        occurred_at: row.time(),
        data_content_type: row.text(),
        data_schema: row.text(),
        extensions: row.json(),
        data: row.text(),
        created_at: row.time(),
        created_by: row.text(),
    }
}
