//! Removes suppressed recipients before a mail is sent, and adds recipients to the list that do not exist.
//!
//! The list is queried once per claim, for all its rows, so an entry takes effect for every row that is claimed after
//! it, on every instance. Rows whose recipients are known only after composing are looked up before their delivery.
//! While the list is unavailable nothing is sent: the rows are deferred without using an attempt.

mod bounce;
mod lookup_results;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use futures::future::join_all;
use postrider_seams::envelope::{Mail, Recipient, RecipientResult};
use postrider_seams::suppression::{Suppressions, folded};
use postrider_seams::{Content, Envelope, Failure, Outcome, Transport, Value, transport};
use tokio::time::{Instant, timeout_at};

use lookup_results::LookupResults;

/// Time limit of a query of the list.
const QUERY_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which a database without a list is checked again: `migrate` may have created one.
const RECHECK_INTERVAL: Duration = Duration::from_secs(5);

/// A mail transport that applies a suppression list.
pub struct SuppressionFilter {
    inner: Arc<dyn Transport>,
    list: Arc<dyn Suppressions>,
    /// The transport's name in outcomes that do not name one.
    name: String,
    no_list_until: Mutex<Option<Instant>>,
    /// Results of look-ups before delivery.
    lookup_results: LookupResults,
}

impl SuppressionFilter {
    /// Wraps a transport; `name` is used in outcomes that name no transport.
    pub fn new(inner: Arc<dyn Transport>, list: Arc<dyn Suppressions>, name: impl Into<String>) -> Self {
        Self {
            inner,
            list,
            name: name.into(),
            no_list_until: Mutex::default(),
            lookup_results: LookupResults::default(),
        }
    }

    /// Returns the entries that match these addresses, with their reasons. Sends one query, or none if there is no
    /// list.
    async fn query<'a>(
        &self,
        addresses: impl Iterator<Item = &'a String>,
        deadline: Instant,
    ) -> Result<BTreeMap<String, String>, String> {
        let now = Instant::now();
        if self.no_list_until().is_some_and(|until| now < until) {
            return Ok(BTreeMap::new());
        }
        let entries: BTreeSet<String> = addresses.flat_map(|address| entries(address)).collect();
        if entries.is_empty() {
            return Ok(BTreeMap::new());
        }
        let entries: Vec<String> = entries.into_iter().collect();
        match timeout_at(deadline.min(now + QUERY_TIMEOUT), self.list.find(&entries)).await {
            Ok(Ok(Some(found))) => Ok(found),
            Ok(Ok(None)) => {
                *self.no_list_until() = Some(now + RECHECK_INTERVAL);
                Ok(BTreeMap::new())
            }
            Ok(Err(error)) => Err(error.to_string()),
            Err(_) => Err("no answer in time".to_owned()),
        }
    }

    /// Looks up these rows and keeps the results. On an error nothing is kept; `deliver` queries again and reports it.
    async fn look_up<'a>(&self, rows: Vec<(&'a str, &'a [String])>) {
        if rows.is_empty() {
            return;
        }
        let addresses = rows.iter().flat_map(|(_, recipients)| *recipients);
        if let Ok(listed) = self.query(addresses, Instant::now() + QUERY_TIMEOUT).await {
            self.lookup_results.store(&rows, &listed);
        }
    }

    /// Returns the entries that match these mails: from earlier look-ups, and from the list for the remaining mails.
    async fn listed(
        &self,
        batch: &[Envelope],
        deadline: Instant,
    ) -> Result<BTreeMap<String, String>, String> {
        let (mut listed, mut missing) = (BTreeMap::new(), Vec::new());
        for envelope in batch {
            let Some(mail) = mail(envelope) else { continue };
            match self.lookup_results.take(&envelope.row, &mail.to) {
                Some(known) => listed.extend(known),
                None => missing.extend(&mail.to),
            }
        }
        listed.extend(self.query(missing.into_iter(), deadline).await?);
        Ok(listed)
    }

    fn no_list_until(&self) -> std::sync::MutexGuard<'_, Option<Instant>> {
        self.no_list_until.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds addresses to the list in a separate task, so that the time of the database does not count as the target's.
    /// All at once: one round trip per call, not one per address.
    fn add_missing(&self, missing_recipients: BTreeMap<String, String>) {
        if missing_recipients.is_empty() {
            return;
        }
        let list = Arc::clone(&self.list);
        tokio::spawn(async move {
            join_all(missing_recipients.iter().map(|(address, reply)| add(&*list, address, reply))).await;
        });
    }

    /// Sends the mails, adds recipients that do not exist to the list, and completes the outcomes.
    async fn deliver_filtered(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let mut outcomes = self.inner.deliver(batch, deadline).await;
        let delivered =
            batch.iter().zip(&outcomes).filter_map(|(envelope, outcome)| Some((mail(envelope)?, outcome)));
        let missing_recipients: BTreeMap<String, String> =
            delivered.flat_map(|(mail, outcome)| bounce::missing_recipients(outcome, mail)).collect();
        self.add_missing(missing_recipients);
        for (envelope, outcome) in batch.iter().zip(&mut outcomes) {
            if let Content::Mail(mail) = &envelope.content {
                self.complete_outcome(outcome, mail);
            }
        }
        outcomes
    }

    /// Completes an outcome: a mail to addresses that do not exist is skipped, and every outcome names its transport.
    fn complete_outcome(&self, outcome: &mut Outcome, mail: &Mail) {
        if let Outcome::Rejected(failure) = outcome
            && !failure.partly_accepted
            && bounce::all_missing(failure, mail)
        {
            *outcome = Outcome::Skipped(std::mem::take(failure));
        }
        let detail = match outcome {
            Outcome::Delivered(receipt) => &mut receipt.detail,
            Outcome::Retryable(failure)
            | Outcome::Rejected(failure)
            | Outcome::Skipped(failure)
            | Outcome::Deferred(failure)
            | Outcome::Refused(failure)
            | Outcome::Uncertain(failure) => &mut failure.detail,
        };
        detail.entry("provider".to_owned()).or_insert_with(|| Value::Text(self.name.clone()));
    }
}

#[async_trait]
impl Transport for SuppressionFilter {
    fn capabilities(&self) -> transport::Capabilities {
        self.inner.capabilities()
    }

    async fn look_up_claimed(&self, rows: &[transport::Addressed]) {
        self.look_up(rows.iter().map(|one| (one.row.as_str(), one.recipients.as_slice())).collect()).await;
        self.inner.look_up_claimed(rows).await;
    }

    async fn look_up_missing(&self, batch: &[Envelope]) {
        let missing =
            batch.iter().filter_map(|envelope| Some((envelope.row.as_str(), mail(envelope)?.to.as_slice())));
        self.look_up(missing.filter(|(row, to)| !self.lookup_results.has(row, to)).collect()).await;
        self.inner.look_up_missing(batch).await;
    }

    async fn deliver(&self, batch: &[Envelope], deadline: Instant) -> Vec<Outcome> {
        let listed = match self.listed(batch, deadline).await {
            Ok(listed) => listed,
            Err(reason) => {
                let reason = format!("the suppression list can't be read: {reason}");
                let failure = Failure { after: Some(RECHECK_INTERVAL), ..Failure::new(reason) };
                return vec![Outcome::Deferred(failure); batch.len()];
            }
        };
        if listed.is_empty() {
            return self.deliver_filtered(batch, deadline).await;
        }
        let (mut outcomes, mut indexes, mut rest) = (vec![None; batch.len()], Vec::new(), Vec::new());
        for (index, envelope) in batch.iter().enumerate() {
            match without_suppressed(envelope, &listed) {
                Ok(envelope) => {
                    indexes.push(index);
                    rest.push(envelope);
                }
                Err(outcome) => outcomes[index] = Some(outcome),
            }
        }
        if !rest.is_empty() {
            let delivered = self.deliver_filtered(&rest, deadline).await;
            if delivered.len() != rest.len() {
                // The caller handles a wrong number of outcomes.
                return Vec::new();
            }
            for (index, outcome) in indexes.into_iter().zip(delivered) {
                outcomes[index] = Some(outcome);
            }
        }
        outcomes.into_iter().map(|outcome| outcome.expect("each was suppressed or sent")).collect()
    }

    async fn probe(&self) -> Result<(), transport::Error> {
        self.inner.probe().await
    }
}

async fn add(list: &dyn Suppressions, address: &str, reply: &str) {
    let entry = folded(address);
    match list.add(&entry, reply).await {
        Ok(true) => tracing::info!(entry, reply, "the address does not exist; it is suppressed"),
        Ok(false) => {}
        Err(error) => tracing::warn!(entry, %error, "the address could not be added to the suppression list"),
    }
}

fn mail(envelope: &Envelope) -> Option<&Mail> {
    match &envelope.content {
        Content::Mail(mail) => Some(mail),
        _ => None,
    }
}

/// Returns the list entries that would match an address: the address itself, and its domain.
fn entries(address: &str) -> Vec<String> {
    let address = folded(address);
    let domain = address.rsplit_once('@').map(|(_, domain)| domain.to_owned());
    std::iter::once(address).chain(domain).collect()
}

/// Removes the suppressed recipients from an envelope and records them as refused; returns the outcome if none is left.
fn without_suppressed(envelope: &Envelope, listed: &BTreeMap<String, String>) -> Result<Envelope, Outcome> {
    let entry_for = |address: &String| entries(address).iter().find_map(|entry| listed.get_key_value(entry));
    let Some(all) = mail(envelope).filter(|mail| mail.to.iter().any(|address| entry_for(address).is_some()))
    else {
        return Ok(envelope.clone());
    };
    let mut mail = all.clone();
    mail.to.retain(|address| entry_for(address).is_none());
    let suppressed = all.to.iter().filter_map(|address| {
        let (entry, reason) = entry_for(address)?;
        let reply = format!("suppressed: {entry} is on the list ({reason})");
        Some(Recipient { address: address.clone(), result: RecipientResult::Refused, reply })
    });
    mail.settled.extend(suppressed);
    if !mail.to.is_empty() {
        return Ok(Envelope { content: Content::Mail(mail), ..envelope.clone() });
    }
    let reason = mail.settled.last().map(|last| last.reply.clone()).unwrap_or_default();
    let mut failure = Failure::new(reason);
    failure.partly_accepted = mail.settled.iter().any(|served| served.result == RecipientResult::Accepted);
    let recipients = serde_json::to_string(&mail.settled).expect("addresses and replies are text");
    failure.detail.insert("recipients".to_owned(), Value::Text(recipients));
    failure.detail.insert("code".to_owned(), Value::Text("invalid_recipient".to_owned()));
    // Recipients that accepted it earlier keep the row from being skipped; otherwise no operator can fix it.
    Err(if failure.partly_accepted { Outcome::Rejected(failure) } else { Outcome::Skipped(failure) })
}
