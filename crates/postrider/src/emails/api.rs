//! Accepts the e-mails that the API receives.

use std::collections::HashMap;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use postrider_contract::{Condition, Literal};
use postrider_seams::store::Error;
use postrider_server::api::{EmailIntake, EmailKind, IntakeLane, Refusal};
use tokio::sync::Mutex;

use super::accept::{self, EmailFileKind, accept, new_id};
use super::composer;
use crate::commands::CommandContext;
use crate::settings::{LaneSettings, listed};
use crate::wiring::{ComposerKind, LaneTable};

/// The lanes that accept e-mails; their tables are opened at first use.
pub struct EmailApi {
    context: Arc<CommandContext>,
    tables: Mutex<HashMap<String, Arc<dyn LaneTable>>>,
}

impl EmailApi {
    /// Finds the lanes that accept e-mails; `None` if there are none.
    pub fn open(context: &Arc<CommandContext>) -> Option<Arc<dyn EmailIntake>> {
        let accepts =
            |lane: &LaneSettings| matches!(composer(lane), Ok(ComposerKind::Eml | ComposerKind::RawEml));
        let any = context.settings.lanes.iter().any(accepts);
        any.then(|| Arc::new(Self { context: Arc::clone(context), tables: Mutex::default() }) as _)
    }

    fn lane(&self, name: Option<&str>, kind: ComposerKind) -> Result<&LaneSettings, Refusal> {
        let fits =
            |lane: &&LaneSettings| composer(lane) == Ok(kind) && name.is_none_or(|name| lane.name == name);
        let lanes: Vec<&LaneSettings> = self.context.settings.lanes.iter().filter(fits).collect();
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

    async fn table(&self, lane: &LaneSettings) -> Result<Arc<dyn LaneTable>, Error> {
        let mut tables = self.tables.lock().await;
        if let Some(table) = tables.get(&lane.name) {
            return Ok(Arc::clone(table));
        }
        let table = self.context.wiring.open(lane).await?;
        tables.insert(lane.name.clone(), Arc::clone(&table));
        Ok(table)
    }
}

#[async_trait]
impl EmailIntake for EmailApi {
    fn lane_for(&self, lane: Option<&str>, kind: EmailKind) -> Result<IntakeLane, Refusal> {
        let lane = self.lane(lane, composer_of(kind))?;
        let limit = usize::try_from(lane.mail.size_limit).unwrap_or(usize::MAX);
        Ok(IntakeLane { lane: lane.name.clone(), status: start_status(lane), limit })
    }

    async fn accept(
        &self,
        place: &IntakeLane,
        kind: EmailKind,
        id: Option<String>,
        bytes: Bytes,
        trace: Option<String>,
    ) -> Result<String, Refusal> {
        let content = match kind {
            EmailKind::Payload => EmailFileKind::Payload,
            EmailKind::Eml => EmailFileKind::Eml,
        };
        let lane = self.lane(Some(&place.lane), composer_of(kind))?;
        let id = id.unwrap_or_else(new_id);
        accept::check_id(&id).map_err(to_api_refusal)?;
        let table = self.table(lane).await.map_err(Refusal::Store)?;
        accept(lane, &*table, &id, content, bytes, trace).await.map_err(to_api_refusal)?;
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

fn to_api_refusal(refusal: accept::Refusal) -> Refusal {
    let text = refusal.to_string();
    match refusal {
        accept::Refusal::Duplicate(_) => Refusal::Duplicate(text),
        accept::Refusal::Id => Refusal::Id(text),
        accept::Refusal::Disk(text) => Refusal::Disk(text),
        accept::Refusal::Store(error) => Refusal::Store(error),
    }
}

/// The value of the status column in the state in which the lane's stage starts.
pub fn start_status(lane: &LaneSettings) -> String {
    let state = lane.contract.state(lane.contract.stages[lane.stage].ready[0]);
    let text = state.conditions.iter().find_map(|(_, condition)| match condition {
        Condition::Is(Literal::Text(text)) => Some(text.clone()),
        _ => None,
    });
    text.unwrap_or_else(|| state.name.clone())
}
