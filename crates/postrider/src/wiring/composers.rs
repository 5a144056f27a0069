//! Builds the composer of a lane's stage from its settings.

use std::sync::Arc;

use postrider_composers::{
    ComputedFields, EmailComposer, MailJobComposer, RecordComposer, WebhookComposer, email, record,
};
use postrider_mail::address::parse_mailbox;
use postrider_mail::{Address, LiveTemplates, Signer};
use postrider_seams::Composer;

use super::{ComposerKind, TransportKind, Wiring, emails, notifications};
use crate::failure::Failure;
use crate::settings::{LaneSettings, MailSettings, RecordSettings};

impl Wiring {
    /// Builds the composer of the lane's stage, with the contract's computed message values; an error if its settings are
    /// invalid.
    pub fn composer(&self, lane: &LaneSettings) -> Result<Arc<dyn Composer>, Failure> {
        Ok(ComputedFields::wrap(&lane.contract, self.stage_composer(lane)?))
    }

    fn stage_composer(&self, lane: &LaneSettings) -> Result<Arc<dyn Composer>, Failure> {
        let name = &lane.contract.stages[lane.stage].composer;
        let kind = ComposerKind::of(name).map_err(Failure::Misuse)?;
        match kind {
            ComposerKind::Email => {
                let settings = email_settings(&lane.name, &lane.mail)
                    .map_err(|mistakes| Failure::Misuse(mistakes.join("; ")))?;
                Ok(Arc::new(EmailComposer::new(settings)))
            }
            ComposerKind::MailJob => {
                let stage = &lane.contract.stages[lane.stage];
                let settings = notifications::settings(&lane.name, &lane.contract, stage, &lane.mail)
                    .map_err(|mistakes| Failure::Misuse(mistakes.join("; ")))?;
                Ok(Arc::new(MailJobComposer::new(settings)))
            }
            ComposerKind::Record => {
                let settings = record_settings(&lane.records, self.targets[&lane.transport].kind);
                Ok(Arc::new(RecordComposer::new(settings.map_err(Failure::Misuse)?)))
            }
            ComposerKind::Webhook => {
                let composer = WebhookComposer::new(self.directory(&lane.store)?, Arc::clone(&self.secrets));
                let composer = composer.with_clock(self.clock(&lane.store));
                Ok(Arc::new(
                    composer.with_retry_after(lane.contract.stages[lane.stage].follows_retry_after()),
                ))
            }
            ComposerKind::Eml | ComposerKind::RawEml | ComposerKind::Callback => {
                emails::composer(kind, lane, self.clock(&lane.store))
                    .map_err(|mistakes| Failure::Misuse(mistakes.join("; ")))
            }
        }
    }
}

/// The prefix of CloudEvents attributes in the binding of each protocol.
fn event_prefix(kind: TransportKind) -> &'static str {
    match kind {
        TransportKind::Kafka => "ce_",
        TransportKind::Amqp => "cloudEvents_",
        _ => "ce-",
    }
}

fn record_settings(records: &RecordSettings, kind: TransportKind) -> Result<record::Settings, String> {
    let mut settings = record::Settings::default();
    if let Some(limit) = records.payload_limit {
        settings.payload_limit = limit;
    }
    let events = records.cloud_events.as_deref();
    settings.cloud_events = events.map(|source| record::CloudEvents::new(source, event_prefix(kind)));
    settings.dead_letters =
        records.dead_letter.as_ref().map(|wanted| kind.dead_letters(wanted)).transpose()?;
    Ok(settings)
}

/// Builds the composer's settings from `[mail]`, or returns every mistake in it.
pub fn email_settings(lane: &str, mail: &MailSettings) -> Result<email::Settings, Vec<String>> {
    let mut settings = email::Settings::new(lane);
    let mut mistakes = Vec::new();
    settings.from = or_mistake(&mut mistakes, "from", mail.from.as_deref().map(parse_mailbox));
    settings.bounces = or_mistake(&mut mistakes, "bounces", mail.bounces.as_deref().map(Address::parse));
    settings.domain.clone_from(&mail.domain);
    settings.size_limit = mail.size_limit;
    settings.recipient_limit = mail.recipient_limit as usize;
    for dkim in &mail.dkim {
        let signer = Signer::new(&dkim.domain, &dkim.selector, dkim.key.reveal());
        settings.signers.extend(or_mistake(&mut mistakes, "dkim", Some(signer)));
    }
    let locale = mail.locale.as_deref().unwrap_or("en");
    let templates = mail.templates.as_deref().map(|folder| LiveTemplates::open(Some(folder), locale));
    settings.templates = or_mistake(&mut mistakes, "templates", templates);
    if mistakes.is_empty() { Ok(settings) } else { Err(mistakes) }
}

/// Returns the value; records the error as a mistake of this key.
pub(super) fn or_mistake<T, E: std::fmt::Display>(
    mistakes: &mut Vec<String>,
    key: &str,
    parsed: Option<Result<T, E>>,
) -> Option<T> {
    parsed?.map_err(|error| mistakes.push(format!("{key}: {error}"))).ok()
}
