//! Builds the settings of the `mail_job` composer: the lane's mail settings, and the contract's limits, which
//! every job states.

use std::time::Duration;

use postrider_composers::mail_job::{self, LEAST_LOCK_TTL, Pattern, Policy, Settings, Zone};
use postrider_contract::{Contract, Stage, When};
use postrider_mail::LiveTemplates;

use super::{email_settings, noted};
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
    let base = email_settings(lane, mail).map_err(|wrong| mistakes.extend(wrong)).ok();
    if mail.from.is_none() {
        mistakes.push("from: these mails need a sender: set from = \"Seats <seats@example.org>\"".to_owned());
    }
    if stage.lease.duration < LEAST_LOCK_TTL {
        let least = LEAST_LOCK_TTL.as_secs();
        mistakes
            .push(format!("lease.for: must be at least {least}s, the lock time in the schema of these jobs"));
    }
    let manage_url = noted(&mut mistakes, "manage_url", mail.manage_url.as_deref().map(Pattern::parse));
    if mail.manage_url.is_none() {
        let example = "https://seats.example.org/subscriptions/{subscription_id}";
        mistakes.push(format!(
            "manage_url: every mail links to its subscription: set manage_url = \"{example}\""
        ));
    }
    let unsubscribe_url =
        noted(&mut mistakes, "unsubscribe_url", mail.unsubscribe_url.as_deref().map(Pattern::parse));
    let zone = mail.time_zone.as_deref().unwrap_or("UTC");
    let unknown = |_| format!("`{zone}` is not a time zone: use for example \"America/New_York\"");
    let zone = noted(&mut mistakes, "time_zone", Some(zone.parse::<Zone>().map_err(unknown)));
    let locale = mail.locale.as_deref().unwrap_or(LOCALE);
    // A folder that cannot be read has been reported already.
    let templates = LiveTemplates::open(mail.templates.as_deref(), locale).ok();
    let made = (base, manage_url, zone, templates);
    let (Some(base), Some(manage_url), Some(zone), Some(templates), true) =
        (made.0, made.1, made.2, made.3, mistakes.is_empty())
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
    let delays = (1..=stage.attempts.max.min(mail_job::LISTED_TRIES)).map(|tries| schedule.delay(tries, 0.0));
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
        .filter(|sweep| sweep.bars_claims && sweep.from.iter().any(|from| stage.ready.contains(from)));
    let ages = sweeps.filter_map(|sweep| match &sweep.when {
        When::OlderThan { age, .. } => Some(*age),
        When::Always | When::At { .. } | When::Before { .. } => None,
    });
    ages.min()
}
