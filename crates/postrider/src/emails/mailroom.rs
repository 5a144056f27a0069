//! Accepts the e-mails that the API receives.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_contract::{Condition, Literal};
use postrider_seams::store::Error;
use postrider_server::api::{EmailKind, Mailroom, Place, Refusal};
use tokio::sync::Mutex;

use super::accept::{self, Content, accept, fresh_id};
use super::composer;
use crate::commands::Desk;
use crate::settings::{LaneSettings, listed};
use crate::wiring::{ComposerKind, Table};

/// The lanes that accept e-mails; their tables are opened at first use.
pub struct Room {
    desk: Arc<Desk>,
    tables: Mutex<HashMap<String, Arc<dyn Table>>>,
}

impl Room {
    /// Finds the lanes that accept e-mails; `None` if there are none.
    pub fn open(desk: &Arc<Desk>) -> Option<Arc<dyn Mailroom>> {
        let takes =
            |lane: &LaneSettings| matches!(composer(lane), Ok(ComposerKind::Eml | ComposerKind::RawEml));
        let any = desk.settings.lanes.iter().any(takes);
        any.then(|| Arc::new(Self { desk: Arc::clone(desk), tables: Mutex::default() }) as _)
    }

    fn lane(&self, name: Option<&str>, kind: ComposerKind) -> Result<&LaneSettings, Refusal> {
        let fits =
            |lane: &&LaneSettings| composer(lane) == Ok(kind) && name.is_none_or(|name| lane.name == name);
        let lanes: Vec<&LaneSettings> = self.desk.settings.lanes.iter().filter(fits).collect();
        match lanes.as_slice() {
            [only] => Ok(only),
            [] => Err(Refusal::NoLane(match name {
                Some(name) => format!("lane {name} does not accept such e-mails"),
                None => "no lane accepts such e-mails".to_owned(),
            })),
            several => {
                let names: Vec<&str> = several.iter().map(|lane| lane.name.as_str()).collect();
                Err(Refusal::NoLane(format!(
                    "several lanes accept them: set `lane` to one of {}",
                    listed(&names)
                )))
            }
        }
    }

    async fn table(&self, lane: &LaneSettings) -> Result<Arc<dyn Table>, Error> {
        let mut tables = self.tables.lock().await;
        if let Some(table) = tables.get(&lane.name) {
            return Ok(Arc::clone(table));
        }
        let table = self.desk.wiring.open(lane).await?;
        tables.insert(lane.name.clone(), Arc::clone(&table));
        Ok(table)
    }
}

#[async_trait]
impl Mailroom for Room {
    fn place(&self, lane: Option<&str>, kind: EmailKind) -> Result<Place, Refusal> {
        let lane = self.lane(lane, composer_of(kind))?;
        let limit = usize::try_from(lane.mail.size_limit).unwrap_or(usize::MAX);
        Ok(Place { lane: lane.name.clone(), status: ready(lane), limit })
    }

    async fn accept(
        &self,
        place: &Place,
        kind: EmailKind,
        id: Option<String>,
        bytes: &[u8],
        trace: Option<String>,
    ) -> Result<String, Refusal> {
        let content = match kind {
            EmailKind::Payload => Content::Payload,
            EmailKind::Eml => Content::Eml,
        };
        let lane = self.lane(Some(&place.lane), composer_of(kind))?;
        let id = id.unwrap_or_else(fresh_id);
        accept::check_id(&id).map_err(told)?;
        let table = self.table(lane).await.map_err(Refusal::Store)?;
        accept(lane, &*table, &id, content, bytes, trace).await.map_err(told)?;
        Ok(id)
    }
}

/// The composer of the stage in which this kind of e-mail starts.
fn composer_of(kind: EmailKind) -> ComposerKind {
    match kind {
        EmailKind::Payload => ComposerKind::Eml,
        EmailKind::Eml => ComposerKind::RawEml,
    }
}

fn told(refusal: accept::Refusal) -> Refusal {
    let text = refusal.to_string();
    match refusal {
        accept::Refusal::Duplicate(_) => Refusal::Duplicate(text),
        accept::Refusal::Id => Refusal::Id(text),
        accept::Refusal::Disk(text) => Refusal::Disk(text),
        accept::Refusal::Store(error) => Refusal::Store(error),
    }
}

/// The value of the status column in the state in which the lane's stage starts.
pub fn ready(lane: &LaneSettings) -> String {
    let state = lane.contract.state(lane.contract.stages[lane.stage].ready[0]);
    let text = state.conditions.iter().find_map(|(_, condition)| match condition {
        Condition::Is(Literal::Text(text)) => Some(text.clone()),
        _ => None,
    });
    text.unwrap_or_else(|| state.name.clone())
}
