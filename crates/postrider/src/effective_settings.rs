//! The effective settings of a lane, whether they come from the file, the environment, the contract or a default.
//!
//! Owns: how operators see the settings. Invariant: no secret is shown. Passwords in URLs, keys and other credentials
//! are masked, so that operators see that they are set.

use std::fmt::Display;
use std::time::Duration;

use postrider_config::{format_duration, format_size};
use postrider_contract::{Contract, GroupMode, OnError, RetryRule, Schedule, Stage};
use postrider_seams::Secret;

use crate::settings::{DeadLetter, LaneSettings, Settings};
use crate::wiring::ComposerKind;

/// Replaces a secret.
const MASK: &str = "••••••";

/// Lists the lane's effective settings as key and value, in the order of the reference.
pub fn list(settings: &Settings, lane: &LaneSettings) -> Vec<(String, String)> {
    let mut entries = Entries::default();
    let stage = &lane.contract.stages[lane.stage];
    lane_limits(&mut entries, lane, stage);
    rules(&mut entries, &lane.contract, stage);
    endpoints(&mut entries, settings, lane);
    let kind = ComposerKind::of(&stage.composer);
    if kind.as_ref().is_ok_and(|kind| kind.makes_mails()) {
        mail(&mut entries, lane);
    }
    if kind == Ok(ComposerKind::Record) {
        records(&mut entries, lane);
    }
    emails(&mut entries, lane);
    entries.0
}

#[derive(Default)]
struct Entries(Vec<(String, String)>);

impl Entries {
    fn add(&mut self, key: &str, value: impl Display) {
        self.0.push((key.to_owned(), value.to_string()));
    }

    fn duration(&mut self, key: &str, value: Duration) {
        self.add(key, format_duration(value));
    }

    fn add_if_set(&mut self, key: &str, value: Option<impl Display>) {
        if let Some(value) = value {
            self.add(key, value);
        }
    }

    fn secret(&mut self, key: &str, value: Option<&Secret>) {
        self.add_if_set(key, value.map(|_| MASK));
    }
}

fn lane_limits(entries: &mut Entries, lane: &LaneSettings, stage: &Stage) {
    let limits = &lane.limits;
    entries.add("contract", format_args!("{} {}", lane.contract.name, lane.contract.version));
    entries.add("stage", &stage.name);
    entries.add("store", &lane.store);
    entries.add("transport", &lane.transport);
    entries.add_if_set("queue", lane.queue.as_ref());
    entries.add("concurrency", limits.concurrency);
    entries.add("batch", limits.batch);
    entries.add("held", limits.max_held);
    entries.add("bytes", format_size(limits.large_row_bytes));
    entries.duration("timeout", limits.timeout);
    entries.duration("poll", limits.poll_interval);
    entries.duration("sweep", limits.maintenance_interval);
    entries.add("single", limits.single_claimer);
}

fn rules(entries: &mut Entries, contract: &Contract, stage: &Stage) {
    let table = contract.table.schema.as_ref().map(|schema| format!("{schema}.")).unwrap_or_default();
    entries.add("table.name", format_args!("{table}{}", contract.table.name));
    entries.add("table.id", &contract.table.id);
    let order = contract.claim.order.iter();
    let order = order.map(ToString::to_string);
    entries.add("claim.order", order.collect::<Vec<_>>().join(", "));
    if !contract.claim.min_age.is_zero() {
        entries.duration("claim.min_age", contract.claim.min_age);
    }
    for (column, value) in &contract.claim.filter {
        entries.add(&format!("claim.filter.{column}"), format_args!("{value:?}"));
    }
    entries.add_if_set("claim.fair", contract.claim.fair.as_ref().map(|column| &column.name));
    if let Some(group) = &contract.group {
        entries.add("group.by", &group.by);
        entries.add("group.sequence", group.sequence.join(", "));
        entries.add("group.on_error", on_error(&group.on_error));
        entries.add("group.run", group.run);
    }
    entries.add_if_set("pool.table", contract.pool.as_ref().map(|pool| &pool.table));
    entries.duration("lease.for", stage.lease.duration);
    entries.add("attempts.max", stage.attempts.max);
    retry(entries, &stage.retry_rule);
    for sweep in &contract.sweeps {
        if let Some(name) = &sweep.name {
            entries.duration(&format!("sweep.{name}.every"), sweep.every);
        }
    }
    for kept in &contract.retention {
        let state = &contract.state(kept.state).name;
        entries.duration(&format!("retention.{state}"), kept.after);
    }
}

fn on_error(rule: &OnError) -> String {
    let word = |hold: &GroupMode| match hold {
        GroupMode::Parallel => "parallel",
        GroupMode::Next => "next",
        GroupMode::Wait => "wait",
        GroupMode::Block => "block",
    };
    match rule {
        OnError::Always(hold) => word(hold).to_owned(),
        OnError::ByColumn { column, values } => {
            let values = values.iter().map(|(value, hold)| format!("{value} = {}", word(hold)));
            format!("by {column}: {}", values.collect::<Vec<_>>().join(", "))
        }
    }
}

fn retry(entries: &mut Entries, rule: &RetryRule) {
    entries.add("retry", schedule(&rule.schedule));
    for (name, named) in &rule.named {
        entries.add(&format!("retry.named.{name}"), schedule(named));
    }
    entries.add_if_set("retry.column", rule.column.as_ref());
}

fn schedule(schedule: &Schedule) -> String {
    match schedule {
        Schedule::Exponential { base, factor, cap, jitter, .. } => {
            format!("{} × {factor}ⁿ, at most {}, ± {jitter}", format_duration(*base), format_duration(*cap))
        }
        Schedule::Delays { delays, cap, jitter } => {
            let delays: Vec<String> = delays.iter().map(|delay| format_duration(*delay)).collect();
            let cap = cap.map(|cap| format!(", at most {}", format_duration(cap))).unwrap_or_default();
            format!("{}{cap}, ± {jitter}", delays.join(", "))
        }
    }
}

/// Adds store, transport and queue.
fn endpoints(entries: &mut Entries, settings: &Settings, lane: &LaneSettings) {
    if let Some(store) = settings.stores.get(&lane.store) {
        entries.add(&format!("stores.{}.url", lane.store), masked_url(store.url.reveal()));
        entries.add_if_set(&format!("stores.{}.connections", lane.store), store.connections);
        let listen = store.listen_url.as_ref().map(|url| masked_url(url.reveal()));
        entries.add_if_set(&format!("stores.{}.listen_url", lane.store), listen);
    }
    if let Some(target) = settings.transports.get(&lane.transport) {
        let key = |name: &str| format!("transports.{}.{name}", lane.transport);
        entries.add(&key("url"), masked_url(target.url.reveal()));
        for (name, value) in target.options() {
            entries.add(&key(&name), if is_secret(&name) { MASK } else { &value });
        }
        if let Some(reliable) = &target.reliable {
            let senders: Vec<&str> = reliable.senders.iter().map(|sender| sender.value.as_str()).collect();
            entries.add(&key("senders"), senders.join(", "));
        }
    }
    if let Some((name, queue)) = lane.queue.as_ref().and_then(|name| settings.queues.get_key_value(name)) {
        entries.add(&format!("queues.{name}.url"), masked_url(queue.url.reveal()));
        entries.add(&format!("queues.{name}.queue"), &queue.queue);
    }
}

fn mail(entries: &mut Entries, lane: &LaneSettings) {
    let mail = &lane.mail;
    entries.add_if_set("mail.from", mail.from.as_ref());
    entries.add_if_set("mail.domain", mail.domain.as_ref());
    entries.add_if_set("mail.bounces", mail.bounces.as_ref());
    entries.add_if_set("mail.templates", mail.templates.as_ref().map(|path| path.display().to_string()));
    entries.add_if_set("mail.locale", mail.locale.as_ref());
    entries.add("mail.recipient_limit", mail.recipient_limit);
    entries.add("mail.size_limit", format_size(mail.size_limit));
    for dkim in &mail.dkim {
        entries.add("mail.dkim", format_args!("{}, selector {}, key {MASK}", dkim.domain, dkim.selector));
    }
    entries.add_if_set("mail.manage_url", mail.manage_url.as_ref());
    entries.add_if_set("mail.unsubscribe_url", mail.unsubscribe_url.as_ref());
    entries.add_if_set("mail.time_zone", mail.time_zone.as_ref());
}

fn records(entries: &mut Entries, lane: &LaneSettings) {
    entries.add_if_set("payload_limit", lane.records.payload_limit.map(format_size));
    entries.add_if_set("cloud_events", lane.records.cloud_events.as_ref());
    entries.add_if_set(
        "dead_letter",
        lane.records.dead_letter.as_ref().map(|letter| match letter {
            DeadLetter::Usual => "true",
            DeadLetter::Suffix(suffix) => suffix,
        }),
    );
}

fn emails(entries: &mut Entries, lane: &LaneSettings) {
    let emails = &lane.emails;
    entries.add_if_set("emails.base", emails.base.as_ref().map(|path| path.display().to_string()));
    entries.add_if_set("emails.folder", emails.folder.as_ref().map(|path| path.display().to_string()));
    entries.add_if_set("emails.remove_files_after", emails.remove_files_after.map(format_duration));
    entries.add_if_set("emails.callback_url", emails.callback_url.as_deref().map(masked_url));
    entries.secret("emails.callback_secret", emails.callback_secret.as_ref());
    entries.secret("emails.callback_old_secret", emails.callback_old_secret.as_ref());
}

/// Whether an option of this name may hold a credential.
fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let words = ["password", "secret", "token", "key", "credential"];
    words.iter().any(|word| name.contains(word)) && !name.ends_with("_file")
}

/// Masks the password of a URL and the options that may hold credentials; masks a URL that cannot be parsed entirely.
fn masked_url(text: &str) -> String {
    let Ok(mut url) = url::Url::parse(text) else {
        // The library does not parse `host1,host2`; it does parse `sqlite:` and `file:`.
        return without_password(text);
    };
    let pairs: Vec<(String, String)> =
        url.query_pairs().map(|(name, value)| (name.into_owned(), value.into_owned())).collect();
    let (password, option) = (url.password().is_some(), pairs.iter().any(|(name, _)| is_secret(name)));
    if !password && !option {
        // Keep the URL as written: the library would make the path of `file:outbox` absolute.
        return text.to_owned();
    }
    if password && url.set_password(Some("MASKED")).is_err() {
        return MASK.to_owned();
    }
    if option {
        let mut query = url.query_pairs_mut();
        query.clear();
        for (name, value) in &pairs {
            query.append_pair(name, if is_secret(name) { "MASKED" } else { value });
        }
    }
    url.to_string().replace("MASKED", MASK)
}

fn without_password(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else { return text.to_owned() };
    match rest.rsplit_once('@') {
        Some((_, hosts)) => format!("{scheme}://{MASK}@{hosts}"),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_shown_without_credentials() {
        for (text, shown) in [
            ("postgres://app:hunter2@db/app?sslmode=require", "postgres://app:••••••@db/app?sslmode=require"),
            ("smtp://u:p%40ss@mail.example:587", "smtp://u:••••••@mail.example:587"),
            ("kafka://u:hunter2@a:9092,b:9092", "kafka://••••••@a:9092,b:9092"),
            (
                "sqs://eu?access_key=AKIA&secret_key=hunter2&batch=5",
                "sqs://eu?access_key=••••••&secret_key=••••••&batch=5",
            ),
            ("sqlite:shop.db", "sqlite:shop.db"),
            ("file:outbox", "file:outbox"),
            ("webhook://?allow=127.0.0.0/8", "webhook://?allow=127.0.0.0/8"),
        ] {
            assert_eq!(masked_url(text), shown);
        }
        assert!(
            is_secret("password") && is_secret("api_key") && !is_secret("ca_file") && !is_secret("batch")
        );
    }
}
