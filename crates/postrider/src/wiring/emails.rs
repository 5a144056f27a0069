//! Builds the composers and transports of the e-mail pipeline from settings.

use std::sync::Arc;

use async_trait::async_trait;
use postrider_composers::base_folder::BaseFolder;
use postrider_composers::{CallbackComposer, EmlComposer, RawEmlComposer, callback, eml, raw_eml};
use postrider_seams::{ClockOffset, Composer, Envelope, Outcome, Transport, transport};
use tokio::time::Instant;

use super::{ComposerKind, email_settings};
use crate::emails::api::start_status;
use crate::settings::LaneSettings;

/// Most attachments of one e-mail.
const ATTACHMENTS: usize = 100;

/// Lists what this composer lacks in `[lanes.NAME.emails]`.
pub fn mistakes(kind: ComposerKind, lane: &LaneSettings) -> Vec<String> {
    let emails = &lane.emails;
    let mut mistakes = Vec::new();
    match kind {
        ComposerKind::Eml | ComposerKind::RawEml if emails.base.is_none() => {
            mistakes.push("base: the folder of the files is missing: set base = \"/mnt/mail\"".to_owned());
        }
        ComposerKind::Callback => {
            let web = |url: &String| url.starts_with("https://") || url.starts_with("http://");
            if !emails.callback_url.as_ref().is_some_and(web) {
                mistakes.push(
                    "callback_url: is missing: set callback_url = \"https://app.example/mails\"".to_owned(),
                );
            }
            if emails.callback_secret.is_none() {
                let text =
                    "callback_secret: callbacks are signed: set callback_secret = \"env://CALLBACK_SECRET\"";
                mistakes.push(text.to_owned());
            }
        }
        _ => {}
    }
    mistakes
}

/// The settings of a pipeline stage's composer.
#[derive(Debug)]
pub enum StageSettings {
    Eml(eml::Settings),
    RawEml(raw_eml::Settings),
    Callback(callback::Settings),
}

/// Builds the composer of a pipeline stage; the settings must be checked.
pub fn composer(
    kind: ComposerKind,
    lane: &LaneSettings,
    clock: Arc<ClockOffset>,
) -> Result<Arc<dyn Composer>, Vec<String>> {
    Ok(match stage_settings(kind, lane, clock)? {
        StageSettings::Eml(settings) => Arc::new(EmlComposer::new(settings)),
        StageSettings::RawEml(settings) => Arc::new(RawEmlComposer::new(settings)),
        StageSettings::Callback(settings) => Arc::new(CallbackComposer::new(settings)),
    })
}

/// Builds the settings of a pipeline stage's composer, or returns every mistake in them.
pub fn stage_settings(
    kind: ComposerKind,
    lane: &LaneSettings,
    clock: Arc<ClockOffset>,
) -> Result<StageSettings, Vec<String>> {
    let found = mistakes(kind, lane);
    if !found.is_empty() {
        return Err(found);
    }
    let mail = email_settings(&lane.name, &lane.mail)?;
    let base = BaseFolder::new(lane.emails.base.clone().unwrap_or_default());
    Ok(match kind {
        ComposerKind::Eml => StageSettings::Eml(eml::Settings {
            name: lane.contract.table.name.clone(),
            base,
            from: mail.from,
            domain: mail.domain,
            size_limit: mail.size_limit,
            recipient_limit: mail.recipient_limit,
            attachment_limit: ATTACHMENTS,
        }),
        ComposerKind::RawEml => StageSettings::RawEml(raw_eml::Settings {
            base,
            bounces: mail.bounces,
            size_limit: mail.size_limit,
            recipient_limit: mail.recipient_limit,
        }),
        _ => StageSettings::Callback(callback::Settings {
            clock,
            url: lane.emails.callback_url.clone().unwrap_or_default(),
            secrets: [&lane.emails.callback_secret, &lane.emails.callback_old_secret]
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
            status: start_status(lane),
            follows_retry_after: lane.contract.stages[lane.stage].follows_retry_after(),
            keeps_reason: lane.contract.stages[lane.stage]
                .ready
                .iter()
                .any(|ready| lane.contract.keeps_error(*ready)),
        }),
    })
}

/// A transport that turns every answer except 2xx into a retry of the callback (rule E9).
pub struct RetryRejections(pub Arc<dyn Transport>);

#[async_trait]
impl Transport for RetryRejections {
    fn capabilities(&self) -> transport::Capabilities {
        self.0.capabilities()
    }

    fn hold(&self, envelope: &Envelope) -> Option<transport::TargetHold> {
        self.0.hold(envelope)
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let retry = |outcome: Outcome| match outcome {
            Outcome::Rejected(failure) | Outcome::Skipped(failure) => Outcome::Retryable(failure),
            other => other,
        };
        self.0.deliver(batch, deadline).await.into_iter().map(retry).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.0.probe().await
    }
}
