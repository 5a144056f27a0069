//! The mails of one call: which are still untried, and the outcomes of the others.
//!
//! Invariant: every mail has exactly one outcome when the call finishes; an untried one costs nothing (G1).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome};
use tokio::time::Instant;

use crate::error::ConnectionError;
use crate::outcome;
use crate::transaction::Transaction;

/// Consecutive new connections that broke in their first mail before the rest of the call is deferred.
const MAX_CONNECTION_LOSSES: u32 = 2;
/// Wait of untried mails when the relay fails.
pub(crate) const RELAY_FAILURE_DELAY: Duration = Duration::from_secs(10);
/// Wait of untried mails when only the deadline passed.
const DEADLINE_DELAY: Duration = Duration::from_secs(1);

enum StopReason {
    /// Untried mails are deferred.
    Deferred(Failure),
    /// The relay refuses us, so the remaining mails are refused too.
    Refused(Failure),
}

/// A mail with too many recipients for one transaction.
struct PartialMail {
    settled: Vec<Recipient>,
    /// Remaining recipients, as indexes into the mail's; never empty.
    remaining: Vec<usize>,
    /// The duration of the slowest transaction so far.
    slowest: Duration,
}

pub(crate) struct MailBatch<'a> {
    batch: &'a [Envelope],
    outcomes: Vec<Option<Outcome>>,
    untried: VecDeque<usize>,
    /// Mails with some recipients settled.
    partial_mails: BTreeMap<usize, PartialMail>,
    /// Outcome of the mails that are still untried.
    stop_reason: Option<StopReason>,
    losses: u32,
    /// Senders that the relay accepted in this call.
    senders: Vec<&'a str>,
    /// Mails whose sender was refused; it is not yet known whether the relay refuses only them or us.
    sender_refused: Vec<usize>,
}

impl<'a> MailBatch<'a> {
    pub(crate) fn new(batch: &'a [Envelope]) -> Self {
        let mut mails = Self {
            batch,
            outcomes: vec![None; batch.len()],
            untried: (0..batch.len()).collect(),
            partial_mails: BTreeMap::new(),
            stop_reason: None,
            losses: 0,
            senders: Vec::new(),
            sender_refused: Vec::new(),
        };
        for (index, envelope) in batch.iter().enumerate() {
            if !matches!(envelope.content, Content::Mail(_)) {
                mails.untried.retain(|untried| *untried != index);
                mails.set_outcome(
                    index,
                    Outcome::Rejected(Failure::new("not a mail: the SMTP transport sends only mails")),
                );
            }
        }
        mails
    }

    pub(crate) fn mail(&self, index: usize) -> &'a Mail {
        let Content::Mail(mail) = &self.batch[index].content else {
            unreachable!("other content was rejected in new()");
        };
        mail
    }

    /// Returns the next mail to try, which stays untried until [`MailBatch::begin`].
    pub(crate) fn next_untried(&self) -> Option<usize> {
        if self.stop_reason.is_some() { None } else { self.untried.front().copied() }
    }

    /// Checks the lease before each transaction of a mail. If it was lost between two transactions, the mail ends with
    /// the results so far: another worker may have sent the rest.
    pub(crate) fn may_begin(&self, index: usize) -> Result<(), Outcome> {
        self.batch[index].may_begin().map_err(|untried| match untried {
            Outcome::Deferred(failure) if self.partial_mails.contains_key(&index) => {
                self.interrupted(index, Some(&StopReason::Deferred(failure)))
            }
            untried => untried,
        })
    }

    pub(crate) fn begin(&mut self) {
        self.untried.pop_front();
    }

    /// Marks a mail as untried again.
    pub(crate) fn put_back(&mut self, index: usize) {
        self.untried.push_front(index);
    }

    /// Returns the settled recipients of a mail, from earlier attempts and this one, and the remaining ones.
    pub(crate) fn progress(&self, index: usize) -> (Vec<Recipient>, Vec<usize>) {
        match self.partial_mails.get(&index) {
            Some(partial) => (partial.settled.clone(), partial.remaining.clone()),
            None => (self.mail(index).settled.clone(), (0..self.mail(index).to.len()).collect()),
        }
    }

    /// Records the recipients that a transaction settled; the others follow in the next one.
    pub(crate) fn continue_later(
        &mut self,
        transaction: &Transaction<'a>,
        settled: Vec<Recipient>,
        remaining: Vec<usize>,
    ) {
        let index = transaction.index;
        let before = self.partial_mails.get(&index).map_or(Duration::ZERO, |partial| partial.slowest);
        let slowest = before.max(transaction.begun.elapsed());
        self.partial_mails.insert(index, PartialMail { settled, remaining, slowest });
        self.untried.push_front(index);
    }

    /// Whether a further transaction of this mail is likely to end by the deadline. One that is cut off after its final
    /// dot is uncertain, so it is better begun in the next call.
    pub(crate) fn has_time_for(&self, index: usize, deadline: Instant) -> bool {
        let left = deadline.saturating_duration_since(Instant::now());
        self.partial_mails.get(&index).is_none_or(|partial| left > partial.slowest)
    }

    pub(crate) fn set_outcome(&mut self, index: usize, outcome: Outcome) {
        debug_assert!(self.outcomes[index].is_none(), "a mail has one outcome");
        self.outcomes[index] = Some(outcome);
    }

    pub(crate) fn sender_accepted(&mut self, mail: &'a Mail) {
        if self.senders.last() != Some(&mail.from.as_str()) && !self.senders.contains(&mail.from.as_str()) {
            self.senders.push(&mail.from);
        }
    }

    pub(crate) fn sender_was_refused(&mut self, index: usize) {
        self.sender_refused.push(index);
    }

    /// Defers the untried mails, at no cost.
    pub(crate) fn defer_rest(&mut self, reason: &str, after: Duration) {
        let failure = Failure { after: Some(after), ..Failure::new(format!("not tried: {reason}")) };
        self.stop_reason.get_or_insert(StopReason::Deferred(failure));
    }

    pub(crate) fn out_of_time(&mut self, reason: &str) {
        self.defer_rest(reason, DEADLINE_DELAY);
    }

    pub(crate) fn refuse_rest(&mut self, failure: Failure) {
        self.stop_reason.get_or_insert(StopReason::Refused(failure));
    }

    /// Counts a new connection that broke in its first mail.
    pub(crate) fn count_loss(&mut self, reason: &str) {
        self.losses += 1;
        if self.losses >= MAX_CONNECTION_LOSSES {
            self.defer_rest(reason, RELAY_FAILURE_DELAY);
        }
    }

    pub(crate) fn clear_losses(&mut self) {
        self.losses = 0;
    }

    /// Handles a failed connect: the mail that was next has failed, the rest is untried.
    pub(crate) fn connect_failed(&mut self, error: ConnectionError) {
        match error {
            ConnectionError::Refused(reason) => {
                let mut failure = Failure::new(reason);
                outcome::set_class(&mut failure, "unauthorized");
                self.refuse_rest(failure);
            }
            // No connection was attempted, so not even the first mail has failed.
            ConnectionError::Exhausted(reason) => self.defer_rest(&reason, RELAY_FAILURE_DELAY),
            ConnectionError::Unreachable { reason, .. } | ConnectionError::Lost(reason) => {
                self.unreachable(&reason);
            }
        }
    }

    fn unreachable(&mut self, reason: &str) {
        if let Some(index) = self.next_untried() {
            self.begin();
            let mut failure =
                outcome::failure(self.mail(index), &self.all_recipients(index, reason), reason.to_owned());
            outcome::set_class(&mut failure, "network_error");
            failure.unreachable = true;
            self.set_outcome(index, Outcome::Retryable(failure));
        }
        self.defer_rest(reason, RELAY_FAILURE_DELAY);
    }

    pub(crate) fn into_outcomes(mut self) -> Vec<Outcome> {
        self.decide_refused_senders();
        for index in std::mem::take(&mut self.untried) {
            if self.partial_mails.contains_key(&index) {
                let outcome = self.interrupted(index, self.stop_reason.as_ref());
                self.set_outcome(index, outcome);
                continue;
            }
            let mail = self.mail(index);
            let outcome = match &self.stop_reason {
                Some(StopReason::Refused(failure)) => {
                    Outcome::Refused(outcome::keep_accepted(mail, &mail.settled, failure.clone()))
                }
                Some(StopReason::Deferred(failure)) => {
                    Outcome::Deferred(outcome::keep_accepted(mail, &mail.settled, failure.clone()))
                }
                None => unreachable!("a call without a halt leaves nothing untried"),
            };
            self.set_outcome(index, outcome);
        }
        let settled = self.outcomes.into_iter();
        settled.map(|outcome| outcome.expect("what is not untried was settled")).collect()
    }

    /// Returns the known results, and if some recipients are settled, the others as waiting.
    pub(crate) fn all_recipients(&self, index: usize, reason: &str) -> Vec<Recipient> {
        let (mut all, remaining) = self.progress(index);
        if !all.is_empty() {
            let result = RecipientResult::Deferred;
            let wait = |at: usize| {
                let address = self.mail(index).to[at].clone();
                Recipient { address, result, reply: reason.to_owned() }
            };
            all.extend(remaining.into_iter().map(wait));
        }
        all
    }

    /// Returns the outcome of a mail of which some recipients were settled in this call and the rest could not be
    /// asked for. If it ended early for a reason outside the mail, it costs nothing. Such calls come to an end, as each
    /// of them has delivered the mail to at least one more recipient.
    fn interrupted(&self, index: usize, stop_reason: Option<&StopReason>) -> Outcome {
        let (reason, deferral) = match stop_reason {
            Some(StopReason::Deferred(failure)) => (failure.reason.as_str(), Some(failure.after)),
            Some(StopReason::Refused(failure)) => (failure.reason.as_str(), None),
            None => ("not tried", None),
        };
        let recipients = self.all_recipients(index, reason);
        let failure = outcome::failure(self.mail(index), &recipients, reason.to_owned());
        match deferral {
            Some(after) if failure.accepted_now => Outcome::Deferred(Failure { after, ..failure }),
            _ => Outcome::Retryable(failure),
        }
    }

    /// Decides who is at fault for refused senders: the mail, if the relay accepted another sender in the same call.
    /// Otherwise we are: a whole queue must not fail because the relay stopped trusting us.
    fn decide_refused_senders(&mut self) {
        for index in std::mem::take(&mut self.sender_refused) {
            let from = self.mail(index).from.as_str();
            let sender_is_cause = !self.senders.is_empty() && !self.senders.contains(&from);
            if let (true, Some(Outcome::Refused(failure))) = (sender_is_cause, &mut self.outcomes[index]) {
                let mut failure = std::mem::take(failure);
                outcome::set_class(&mut failure, "rejected");
                self.outcomes[index] = Some(Outcome::Rejected(failure));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(row: &str) -> Envelope {
        let mail = Mail {
            from: "shop@example.com".to_owned(),
            to: vec!["ann@example.net".to_owned()],
            message: "Subject: a\r\n\r\n".into(),
            rest: None,
            message_id: "1@example.com".to_owned(),
            utf8: false,
            settled: Vec::new(),
            metadata: Vec::new(),
        };
        let content = Content::Mail(mail);
        let (row, dedupe) = (row.to_owned(), row.to_owned());
        Envelope {
            row,
            dedupe,
            attempt: 1,
            lease: postrider_seams::LeaseCheck::default(),
            content,
            detail: BTreeMap::new(),
        }
    }

    #[test]
    fn g01_exhausted_descriptors_cost_no_mail_an_attempt() {
        let batch = [envelope("1"), envelope("2")];
        let outcomes = |error| {
            let mut mails = MailBatch::new(&batch);
            mails.connect_failed(error);
            mails.into_outcomes()
        };
        let free =
            |outcome: &Outcome| matches!(outcome, Outcome::Deferred(failure) if failure.after.is_some());
        assert!(outcomes(ConnectionError::Exhausted("no descriptor".to_owned())).iter().all(free));
        let away = outcomes(ConnectionError::unreachable("refused"));
        assert!(matches!(&away[0], Outcome::Retryable(failure) if failure.unreachable) && free(&away[1]));
    }
}
