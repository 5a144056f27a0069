//! Builds the settings of the `mail_job` composer: the lane's mail settings, and the contract's limits, which
//! every job states.

use std::time::Duration;

use postrider_composers::mail_job::{self, MIN_LOCK_TTL, Policy, Settings, UrlPattern, Zone};
use postrider_contract::{Contract, Stage, When};
use postrider_mail::LiveTemplates;

use super::composers::{email_settings, or_mistake};
use crate::settings::MailSettings;

/// The locale of subscriptions without one, if the lane has none either.
const LOCALE: &str = "en-US";

/// Builds the settings, or returns every mistake in them.
pub fn settings(
    lane: &str,
    contract: &Contract,
    stage: &Stage,
    mail: &MailSettings,
) -> Result<Settings, Vec<String>> {
    let mut mistakes = Vec::new();
    let base = email_settings(lane, mail).map_err(|found| mistakes.extend(found)).ok();
    if mail.from.is_none() {
        mistakes.push("from: these mails need a sender: set from = \"Seats <seats@example.org>\"".to_owned());
    }
    if stage.lease.duration < MIN_LOCK_TTL {
        let least = MIN_LOCK_TTL.as_secs();
        mistakes
            .push(format!("lease.for: must be at least {least}s, the lock time in the schema of these jobs"));
    }
    let manage_url =
        or_mistake(&mut mistakes, "manage_url", mail.manage_url.as_deref().map(UrlPattern::parse));
    if mail.manage_url.is_none() {
        let example = "https://seats.example.org/subscriptions/{subscription_id}";
        mistakes.push(format!(
            "manage_url: every mail links to its subscription: set manage_url = \"{example}\""
        ));
    }
    let unsubscribe_url =
        or_mistake(&mut mistakes, "unsubscribe_url", mail.unsubscribe_url.as_deref().map(UrlPattern::parse));
    let zone = mail.time_zone.as_deref().unwrap_or("UTC");
    let unknown = |_| format!("`{zone}` is not a time zone: use for example \"America/New_York\"");
    let zone = or_mistake(&mut mistakes, "time_zone", Some(zone.parse::<Zone>().map_err(unknown)));
    let locale = mail.locale.as_deref().unwrap_or(LOCALE);
    // A folder that cannot be read has been reported already.
    let templates = LiveTemplates::open(mail.templates.as_deref(), locale).ok();
    let parts = (base, manage_url, zone, templates);
    let (Some(base), Some(manage_url), Some(zone), Some(templates), true) =
        (parts.0, parts.1, parts.2, parts.3, mistakes.is_empty())
    else {
        return Err(mistakes);
    };
    Ok(Settings {
        mail: std::sync::Arc::new(base),
        templates,
        locale: locale.to_owned(),
        zone,
        manage_url,
        unsubscribe_url,
        policy: policy(stage),
        expires: expires(contract, stage),
    })
}

fn policy(stage: &Stage) -> Policy {
    let schedule = &stage.retry_rule.schedule;
    let delays =
        (1..=stage.attempts.max.min(mail_job::MAX_RETRY_ENTRIES)).map(|tries| schedule.delay(tries, 0.0));
    Policy {
        max_attempts: stage.attempts.max,
        lock_ttl: stage.lease.duration,
        retry_schedule: delays.collect(),
    }
}

/// The age at which a sweep expires a row.
fn expires(contract: &Contract, stage: &Stage) -> Option<Duration> {
    let sweeps = contract
        .sweeps
        .iter()
        .filter(|sweep| sweep.blocks_claims && sweep.from.iter().any(|from| stage.ready.contains(from)));
    let ages = sweeps.filter_map(|sweep| match &sweep.when {
        When::OlderThan { age, .. } => Some(*age),
        When::Always | When::At { .. } | When::Before { .. } => None,
    });
    ages.min()
}
