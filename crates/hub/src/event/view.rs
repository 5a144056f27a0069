//! Events as the API returns them, and the queries that read and list them.

use std::collections::BTreeMap;

use serde::Serialize;
use utoipa::ToSchema;

use crate::access::Actor;
use crate::cursor::{List, ListOrder, PagePosition};
use crate::page::{Page, PageQuery};
use crate::sql::{Clauses as _, RowReader, Table, columns};
use crate::{Error, Hub, Moment};

pub(super) const TABLE: Table = Table {
    name: "dispatch_events",
    columns: columns![
        id, event_id, source, code, subject, client_id, correlation_id, occurred_at: Time, data_content_type,
        data_schema, extensions, data, created_at: Time, created_by,
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
    /// Id of the API key that sent the event.
    #[serde(skip)]
    pub created_by: Option<String>,
}

impl Event {
    /// Removes the data if the actor may not read it.
    fn mask_for(&mut self, actor: &Actor) {
        if !actor.may_read_created_by(self.created_by.as_deref()) {
            self.data = None;
        }
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
        let found = self.fetch_by_id("read an event", &TABLE, id).await?.map(read);
        let found = found.filter(|event| actor.scope.covers(event.client_id.as_deref()));
        let mut event = found.ok_or(Error::NotFound("event"))?;
        event.mask_for(actor);
        Ok(event)
    }

    /// Returns a page of events within the actor's scope, newest first.
    pub async fn events(
        &self,
        actor: &Actor,
        filter: &EventFilter,
        page: &PageQuery,
    ) -> Result<Page<Event>, Error> {
        let selective = filter.client_id.is_some() || filter.code.is_some();
        let list = List {
            doing: "list events",
            context: &format!("events {filter:?}"),
            order: ListOrder::Created { selective: selective || actor.scope.default_client().is_some() },
            read,
            position: |event| PagePosition { created: event.created_at, id: event.id.clone() },
        };
        let query = self
            .select(&TABLE)
            .and_equals("client_id", filter.client_id.as_deref())
            .and_equals("code", filter.code.as_deref())
            .and_created(filter.created_after, filter.created_before)
            .and_in_scope(&actor.scope);
        let mut page = self.read_page(actor, page, query, list).await?;
        page.items.iter_mut().for_each(|event| event.mask_for(actor));
        Ok(page)
    }
}

pub(super) fn read(mut row: RowReader) -> Event {
    Event {
        id: row.required_text(),
        event_id: row.required_text(),
        source: row.required_text(),
        code: row.required_text(),
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
