//! Resolves the names of a lane: its contract, stage, store and transport.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postrider_composers::message;
use postrider_config::{Mistake, Mistakes, Place};
use postrider_contract::{Contract, LaneDefaults as External, Layer};
use postrider_engine::Limits;

use super::LaneSettings;
use super::lanes::{RawLane, RawLimits};
use super::load::RawSettings;
use super::mistake::{listed, suggest};
use super::reader::{Context, Located};
use super::reliable;
use crate::wiring::{ComposerKind, DISK, email_settings, emails, notifications, unsupported_keys};

/// Returns the lanes whose names could all be resolved; records mistakes for the others.
pub(super) fn lookup(written: &RawSettings, context: &Context<'_>, whole: &Place) -> Vec<LaneSettings> {
    let search = Search { written, context };
    reliable::check(written, context);
    if written.lanes.iter().all(|lane| !lane.enabled) {
        search.wrong(
            whole,
            "lanes",
            "there is no lane to run: add [lanes.NAME] with a contract, a store and a transport",
        );
    }
    written.lanes.iter().filter(|lane| lane.enabled).filter_map(|lane| search.lane(lane)).collect()
}

struct Search<'a> {
    written: &'a RawSettings,
    context: &'a Context<'a>,
}

impl Search<'_> {
    fn wrong(&self, place: &Place, key: impl Into<String>, text: impl Into<String>) {
        self.context.wrong(place, key, text);
    }

    fn lane(&self, lane: &RawLane) -> Option<LaneSettings> {
        let store = self.named(lane, "store", lane.store.as_ref(), &self.written.store_names);
        let (contract, external) = self.contract(lane)?;
        self.refuse_unsupported(lane, store.as_deref(), &contract);
        let stage = self.stage(lane, &contract)?;
        let composer = ComposerKind::of(&contract.stages[stage].composer);
        let transport = if composer == Ok(ComposerKind::Eml) {
            Some(DISK.to_owned())
        } else {
            self.named(lane, "transport", lane.transport.as_ref(), &self.written.transport_names)
        };
        match &composer {
            Ok(composer) => {
                self.fit(lane, *composer, transport.as_deref());
                self.refuse_unread(lane, *composer);
            }
            Err(text) => self.wrong(&lane.place, format!("lanes.{}.contract", lane.name), text.clone()),
        }
        let mistakes = match composer {
            Ok(ComposerKind::MailJob) => {
                notifications::settings(&lane.name, &contract, &contract.stages[stage], &lane.mail).err()
            }
            _ => email_settings(&lane.name, &lane.mail).err(),
        };
        let mistakes = mistakes.unwrap_or_default();
        for text in mistakes {
            self.wrong(&lane.place, format!("lanes.{}.mail", lane.name), text);
        }
        let limits = limits(&lane.limits, external, &contract);
        let queue = self.queue(lane, &contract, stage);
        let contract = if queue.is_some() { contract.with_queue() } else { contract };
        let settings = LaneSettings {
            name: lane.name.clone(),
            contract: Arc::new(contract),
            stage,
            store: store?,
            transport: transport?,
            queue,
            limits,
            mail: lane.mail.clone(),
            records: lane.records.clone(),
            emails: lane.emails.clone(),
        };
        for text in composer.map(|kind| emails::mistakes(kind, &settings)).unwrap_or_default() {
            self.wrong(&lane.place, format!("lanes.{}.emails", lane.name), text);
        }
        Some(settings)
    }

    /// Checks that the transport can deliver what the composer makes, and that only lanes of records set `records`.
    fn fit(&self, lane: &RawLane, composer: ComposerKind, transport: Option<&str>) {
        let target = self.written.transports.iter().find(|target| Some(target.name.as_str()) == transport);
        if let Some(target) = target
            && let Err(text) = target.kind.carries(composer)
        {
            let place = lane.transport.as_ref().map_or(&lane.place, |found| &found.place);
            let text = format!("transport `{}` {text}", target.name);
            self.wrong(place, format!("lanes.{}.transport", lane.name), text);
        }
        if composer == ComposerKind::Record {
            let suffix = lane.records.dead_letter.as_ref().zip(target);
            if let Some(Err(text)) = suffix.map(|(letters, target)| target.kind.dead_letters(letters)) {
                let place = lane.records_place.as_ref().unwrap_or(&lane.place);
                self.wrong(place, format!("lanes.{}.dead_letter", lane.name), text);
            }
        } else if let Some(place) = &lane.records_place {
            let text = "payload_limit, cloud_events and dead_letter are only for lanes that publish records";
            self.wrong(place, format!("lanes.{}", lane.name), text);
        }
    }

    /// Refuses keys of the contract that the lane's store has no use for.
    fn refuse_unsupported(&self, lane: &RawLane, store: Option<&str>, contract: &Contract) {
        let found = self.written.stores.iter().find(|found| Some(found.name.as_str()) == store);
        for (key, reason) in found.map(|found| unsupported_keys(found.kind, contract)).unwrap_or_default() {
            let place = lane.contract.as_ref().map_or(&lane.place, |found| &found.place).clone();
            let (key, what) = (key.to_owned(), reason.to_owned());
            self.add([in_lane(Mistake { place, key, what, remedy: String::new() }, lane)]);
        }
    }

    /// Refuses keys that the lane's composer does not read, and the transport of a lane that needs none.
    fn refuse_unread(&self, lane: &RawLane, composer: ComposerKind) {
        let name = &lane.name;
        let tables = [
            ("mail", &lane.mail_keys, composer.mail_keys()),
            ("emails", &lane.emails_keys, composer.emails_keys()),
        ];
        for (table, set, read) in tables {
            let text = if read.is_empty() {
                format!("is not read by this lane's stage, which reads nothing of [lanes.{name}.{table}]")
            } else {
                format!("is not read by this lane's stage, which reads {}", listed(read))
            };
            for (key, place) in set.iter().filter(|(key, _)| !read.contains(key)) {
                self.wrong(place, format!("lanes.{name}.{table}.{key}"), text.clone());
            }
        }
        let locale = lane.mail_keys.iter().find(|(key, _)| *key == "locale");
        if let Some((_, place)) = locale
            && composer == ComposerKind::Email
            && lane.mail.templates.is_none()
        {
            let text = "is not used without templates: set templates = \"FOLDER\"";
            self.wrong(place, format!("lanes.{name}.mail.locale"), text);
        }
        if let Some(found) = lane.transport.as_ref().filter(|_| composer == ComposerKind::Eml) {
            let text = "is not used: this stage writes files to disk; remove the key";
            self.wrong(&found.place, format!("lanes.{name}.transport"), text);
        }
    }

    /// Resolves the lane's external queue: it must exist, suit the contract and belong to no other lane.
    fn queue(&self, lane: &RawLane, contract: &Contract, stage: usize) -> Option<String> {
        let found = lane.queue.as_ref()?;
        let known = &self.written.queue_names;
        let others = self.written.lanes.iter().filter(|other| other.enabled && other.name != lane.name);
        let taken =
            others.filter(|other| other.queue.as_ref().is_some_and(|queue| queue.value == found.value));
        let text = if !known.contains(&found.value) {
            let remedy = suggest(&found.value, known.iter().map(String::as_str));
            format!("no [queues.{}]{remedy}", found.value)
        } else if contract.handoff(&contract.stages[stage]).is_none() {
            format!(
                "contract `{}` cannot use a queue: that needs a contract with sweeps for it (publish = true, \
                 only_if = \"external_queue\"), such as dispatch_jobs",
                contract.name
            )
        } else if lane.limits.single == Some(true) {
            "a queue is for many workers: set either a queue or single = true".to_owned()
        } else if let Some(other) = taken.map(|other| &other.name).next() {
            format!("[queues.{}] is used by lane `{other}`: each lane needs its own queue", found.value)
        } else {
            return Some(found.value.clone());
        };
        self.wrong(&found.place, format!("lanes.{}.queue", lane.name), text);
        None
    }

    /// Resolves a store or transport by name; no name is needed if there is only one.
    fn named(
        &self,
        lane: &RawLane,
        key: &str,
        found: Option<&Located<String>>,
        known: &[String],
    ) -> Option<String> {
        let path = format!("lanes.{}.{key}", lane.name);
        match (found, known) {
            (Some(found), _) if known.contains(&found.value) => Some(found.value.clone()),
            (Some(found), _) => {
                let remedy = suggest(&found.value, known.iter().map(String::as_str));
                self.wrong(&found.place, path, format!("no [{key}s.{}]{remedy}", found.value));
                None
            }
            (None, [only]) => Some(only.clone()),
            (None, []) => {
                self.wrong(&lane.place, path, format!("there is no {key}: add [{key}s.NAME] with a url"));
                None
            }
            (None, _) => {
                self.wrong(&lane.place, path, format!("there are several: set {key} = \"{}\"", known[0]));
                None
            }
        }
    }

    fn contract(&self, lane: &RawLane) -> Option<(Contract, External)> {
        let (name, place) = match &lane.contract {
            Some(found) => (found.value.as_str(), &found.place),
            None => (lane.name.as_str(), &lane.place),
        };
        let key = format!("lanes.{}.contract", lane.name);
        let (file, text) = match source(name, self.context.base) {
            Ok(source) => source,
            Err(text) => {
                self.wrong(place, key, text);
                return None;
            }
        };
        let over = Layer::of(format!("lanes.{}", lane.name), lane.overrides.clone());
        let contract = self.valid(Contract::parse_with(&file, &text, std::slice::from_ref(&over)))?;
        let (external, mistakes) = contract.external_settings(self.context.variable);
        let is_valid = mistakes.is_empty();
        self.add(mistakes);
        let contract = self.valid(Contract::parse_with(&file, &text, &[over, external.layer]))?;
        self.add(message::verify(&contract, &file).into_iter().map(|mistake| in_lane(mistake, lane)));
        is_valid.then_some((contract, external.lane))
    }

    /// Returns the contract; reports its mistakes if it is invalid.
    fn valid(&self, contract: Result<Contract, Mistakes>) -> Option<Contract> {
        contract.map_err(|mistakes| self.add(mistakes.into_vec())).ok()
    }

    fn add(&self, mistakes: impl IntoIterator<Item = Mistake>) {
        mistakes.into_iter().for_each(|mistake| self.context.report.add(mistake));
    }

    fn stage(&self, lane: &RawLane, contract: &Contract) -> Option<usize> {
        let names = || contract.stages.iter().map(|stage| stage.name.as_str());
        let key = format!("lanes.{}.stage", lane.name);
        match &lane.stage {
            Some(found) => {
                let index = names().position(|name| name == found.value);
                if index.is_none() {
                    let remedy = suggest(&found.value, names());
                    let text = format!("contract `{}` has no stage `{}`{remedy}", contract.name, found.value);
                    self.wrong(&found.place, key, text);
                }
                index
            }
            None if contract.stages.len() == 1 => Some(0),
            None => {
                let stages: Vec<&str> = names().collect();
                let text = format!(
                    "contract `{}` has several stages: set stage to one of {}",
                    contract.name,
                    stages.join(", ")
                );
                self.wrong(&lane.place, key, text);
                None
            }
        }
    }
}

/// Returns a contract's file name, for messages, and its text.
pub fn source(name: &str, base: &Path) -> Result<(String, String), String> {
    if let Some(text) = Contract::builtin(name) {
        return Ok((format!("{name} (built in)"), text.to_owned()));
    }
    let is_path = name.contains(['/', '\\']) || Path::new(name).extension().is_some_and(|end| end == "toml");
    if !is_path {
        let remedy = suggest(name, Contract::builtin_names());
        return Err(format!(
            "there is no built-in contract `{name}`{remedy} (a contract of your own is a path: \"./{name}.toml\")"
        ));
    }
    let path = base.join(name);
    match std::fs::read_to_string(&path) {
        Ok(text) => Ok((path.display().to_string(), text)),
        Err(error) => Err(format!("cannot read the contract {}: {error}", path.display())),
    }
}

/// Moves a composer's mistake, which names a key of the contract, to the lane if the lane overrides that key.
fn in_lane(mistake: Mistake, lane: &RawLane) -> Mistake {
    let path: Vec<&str> = mistake.key.split('.').collect();
    match lane.overrides.at(&path) {
        Some(node) => {
            let key = format!("lanes.{}.{}", lane.name, mistake.key);
            Mistake { place: node.place.clone(), key, ..mistake }
        }
        None => mistake,
    }
}

/// Rows per claim of a fast lane; larger claims are hardly faster.
const MAX_CLAIM_SIZE: u32 = 500;

/// Rows per claim of a fast lane from a distant database: each claim takes several round trips.
const MAX_CLAIM_SIZE_DISTANT: u32 = 4000;

/// Computes the limits: environment variables of the contract override the file, and the file overrides the contract's
/// `[lane]`. The defaults keep a relay busy with only a few batches in memory.
fn limits(raw: &RawLimits, external: External, contract: &Contract) -> Limits {
    let own = contract.lane;
    let chosen = external.batch.or(raw.batch);
    let batch = chosen.unwrap_or(contract.claim.batch);
    let max_batch = chosen.unwrap_or(batch.max(MAX_CLAIM_SIZE));
    Limits {
        concurrency: external.concurrency.or(raw.concurrency).or(own.concurrency).unwrap_or(16) as usize,
        batch,
        max_batch,
        max_batch_distant: if chosen.or(raw.held).is_some() {
            max_batch
        } else {
            max_batch.max(MAX_CLAIM_SIZE_DISTANT)
        },
        max_held: raw.held.unwrap_or(max_batch.saturating_mul(4)) as usize,
        large_row_bytes: raw.bytes.unwrap_or(64 << 20),
        timeout: external.timeout.or(raw.timeout).or(own.timeout).unwrap_or(Duration::from_mins(5)),
        poll_interval: external.poll.or(raw.poll).or(own.poll).unwrap_or(Duration::from_secs(1)),
        maintenance_interval: raw.sweep.unwrap_or(Duration::from_secs(10)),
        single_claimer: raw.single.unwrap_or(false),
    }
}
