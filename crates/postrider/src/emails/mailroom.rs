//! E-mails that come in by the API.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_contract::{Condition, Literal};
use postrider_seams::store::Error;
use postrider_server::api::{AcceptedEmail, Email, Mailroom, Refusal};
use tokio::sync::Mutex;

use super::accept::{self, Content, accept, fresh_id};
use super::composer;
use crate::commands::Desk;
use crate::settings::{LaneSettings, listed};
use crate::wiring::{ComposerKind, Table};

/// The lanes that take e-mails in, their tables opened when first needed.
pub struct Room {
    desk: Arc<Desk>,
    tables: Mutex<HashMap<String, Arc<dyn Table>>>,
}

impl Room {
    /// `None` where no lane takes any.
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
                Some(name) => format!("lane {name} does not take such e-mails in"),
                None => "no lane takes such e-mails in".to_owned(),
            })),
            several => {
                let names: Vec<&str> = several.iter().map(|lane| lane.name.as_str()).collect();
                Err(Refusal::NoLane(format!("which lane? `lane` is one of {}", listed(&names))))
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
    fn limit(&self) -> usize {
        let limits = self.desk.settings.lanes.iter().map(|lane| lane.mail.size_limit);
        usize::try_from(limits.max().unwrap_or(0)).unwrap_or(usize::MAX)
    }

    async fn accept(
        &self,
        lane: Option<&str>,
        id: Option<String>,
        email: Email,
    ) -> Result<AcceptedEmail, Refusal> {
        let (kind, content, bytes) = match email {
            Email::Payload(bytes) => (ComposerKind::Eml, Content::Payload, bytes),
            Email::Eml(bytes) => (ComposerKind::RawEml, Content::Eml, bytes),
        };
        let lane = self.lane(lane, kind)?;
        let id = id.unwrap_or_else(fresh_id);
        accept::check_id(&id).map_err(told)?;
        let table = self.table(lane).await.map_err(Refusal::Store)?;
        accept(lane, &*table, &id, content, &bytes).await.map_err(told)?;
        Ok(AcceptedEmail { id, status: ready(lane), lane: lane.name.clone() })
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

/// What the status column has in the state that the lane's stage begins with.
pub fn ready(lane: &LaneSettings) -> String {
    let state = lane.contract.state(lane.contract.stages[lane.stage].ready[0]);
    let text = state.conditions.iter().find_map(|(_, condition)| match condition {
        Condition::Is(Literal::Text(text)) => Some(text.clone()),
        _ => None,
    });
    text.unwrap_or_else(|| state.name.clone())
}
