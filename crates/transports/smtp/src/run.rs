//! The mails of one call: which are still untried, and the outcomes of the others.
//!
//! Invariant: every mail has exactly one outcome when the run finishes; an untried one costs nothing (G1).

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use postrider_seams::envelope::{Recipient, RecipientResult};
use postrider_seams::{Content, Envelope, Failure, Mail, Outcome};

use crate::error::Fault;
use crate::outcome;

/// Consecutive new connections that broke in their first mail before the rest of the call is deferred.
const LOSSES: u32 = 2;
/// Wait of untried mails when the relay fails.
pub(crate) const TROUBLE: Duration = Duration::from_secs(10);
/// Wait of untried mails when only the deadline passed.
const SHORTLY: Duration = Duration::from_secs(1);

enum Halt {
    /// Untried mails are deferred.
    Deferred(Failure),
    /// The relay refuses us, so the remaining mails are refused too.
    Refused(Failure),
}

/// A mail with too many recipients for one transaction.
struct Part {
    settled: Vec<Recipient>,
    /// Remaining recipients, as indexes into the mail's; never empty.
    left: Vec<usize>,
}

pub(crate) struct Run<'a> {
    batch: &'a [Envelope],
    outcomes: Vec<Option<Outcome>>,
    untried: VecDeque<usize>,
    /// Mails with some recipients settled.
    parts: BTreeMap<usize, Part>,
    /// Outcome of the mails that are still untried.
    halted: Option<Halt>,
    losses: u32,
    /// Senders that the relay accepted in this call.
    senders: Vec<&'a str>,
    /// Mails whose sender was refused; it is not yet known whether the relay refuses only them or us.
    suspects: Vec<usize>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(batch: &'a [Envelope]) -> Self {
        let mut run = Self {
            batch,
            outcomes: vec![None; batch.len()],
            untried: (0..batch.len()).collect(),
            parts: BTreeMap::new(),
            halted: None,
            losses: 0,
            senders: Vec::new(),
            suspects: Vec::new(),
        };
        for (index, envelope) in batch.iter().enumerate() {
            if !matches!(envelope.content, Content::Mail(_)) {
                run.untried.retain(|untried| *untried != index);
                run.settle(
                    index,
                    Outcome::Rejected(Failure::new("this is no mail: SMTP carries nothing else")),
                );
            }
        }
        run
    }

    pub(crate) fn mail(&self, index: usize) -> &'a Mail {
        let Content::Mail(mail) = &self.batch[index].content else {
            unreachable!("what is no mail was settled before anything was tried");
        };
        mail
    }

    /// Returns the next mail to try, which stays untried until [`Run::begin`].
    pub(crate) fn peek(&self) -> Option<usize> {
        if self.halted.is_some() { None } else { self.untried.front().copied() }
    }

    /// Checks the lease of a mail of which nothing was sent yet; a mail in parts has already begun.
    pub(crate) fn may_begin(&self, index: usize) -> Result<(), Outcome> {
        if self.parts.contains_key(&index) { Ok(()) } else { self.batch[index].may_begin() }
    }

    pub(crate) fn begin(&mut self) {
        self.untried.pop_front();
    }

    /// Marks a mail as untried again.
    pub(crate) fn put_back(&mut self, index: usize) {
        self.untried.push_front(index);
    }

    /// Returns the settled recipients of a mail, from earlier attempts and this one, and the remaining ones.
    pub(crate) fn standing(&self, index: usize) -> (Vec<Recipient>, Vec<usize>) {
        match self.parts.get(&index) {
            Some(part) => (part.settled.clone(), part.left.clone()),
            None => (self.mail(index).served.clone(), (0..self.mail(index).to.len()).collect()),
        }
    }

    /// Records the recipients that a transaction settled; the others follow in the next one.
    pub(crate) fn go_on(&mut self, index: usize, settled: Vec<Recipient>, left: Vec<usize>) {
        self.parts.insert(index, Part { settled, left });
        self.untried.push_front(index);
    }

    pub(crate) fn settle(&mut self, index: usize, outcome: Outcome) {
        debug_assert!(self.outcomes[index].is_none(), "a mail has one outcome");
        self.outcomes[index] = Some(outcome);
    }

    pub(crate) fn sender_accepted(&mut self, mail: &'a Mail) {
        if self.senders.last() != Some(&mail.from.as_str()) && !self.senders.contains(&mail.from.as_str()) {
            self.senders.push(&mail.from);
        }
    }

    pub(crate) fn suspect(&mut self, index: usize) {
        self.suspects.push(index);
    }

    /// Defers the untried mails, at no cost.
    pub(crate) fn defer_rest(&mut self, reason: &str, after: Duration) {
        let failure = Failure { after: Some(after), ..Failure::new(format!("not tried: {reason}")) };
        self.halted.get_or_insert(Halt::Deferred(failure));
    }

    pub(crate) fn out_of_time(&mut self, reason: &str) {
        self.defer_rest(reason, SHORTLY);
    }

    pub(crate) fn refuse_rest(&mut self, failure: Failure) {
        self.halted.get_or_insert(Halt::Refused(failure));
    }

    /// Counts a new connection that broke in its first mail.
    pub(crate) fn count_loss(&mut self, reason: &str) {
        self.losses += 1;
        if self.losses >= LOSSES {
            self.defer_rest(reason, TROUBLE);
        }
    }

    pub(crate) fn clear_losses(&mut self) {
        self.losses = 0;
    }

    /// Handles a failed connect: the mail that was next has failed, the rest is untried.
    pub(crate) fn no_connection(&mut self, fault: Fault) {
        match fault {
            Fault::Refused(reason) => {
                let mut failure = Failure::new(reason);
                outcome::classify(&mut failure, "unauthorized");
                self.refuse_rest(failure);
            }
            // No connection was attempted, so not even the first mail has failed.
            Fault::Exhausted(reason) => self.defer_rest(&reason, TROUBLE),
            Fault::Unreachable { reason, .. } | Fault::Lost(reason) => self.unreachable(&reason),
        }
    }

    fn unreachable(&mut self, reason: &str) {
        if let Some(index) = self.peek() {
            self.begin();
            let mut failure =
                outcome::failure(self.mail(index), &self.everyone(index, reason), reason.to_owned());
            outcome::classify(&mut failure, "network_error");
            failure.unreachable = true;
            self.settle(index, Outcome::Retryable(failure));
        }
        self.defer_rest(reason, TROUBLE);
    }

    pub(crate) fn finish(mut self) -> Vec<Outcome> {
        self.acquit();
        for index in std::mem::take(&mut self.untried) {
            if self.parts.contains_key(&index) {
                let outcome = self.left_halfway(index);
                self.settle(index, outcome);
                continue;
            }
            let mail = self.mail(index);
            let outcome = match &self.halted {
                Some(Halt::Refused(failure)) => {
                    Outcome::Refused(outcome::keep_served(mail, &mail.served, failure.clone()))
                }
                Some(Halt::Deferred(failure)) => {
                    Outcome::Deferred(outcome::keep_served(mail, &mail.served, failure.clone()))
                }
                None => unreachable!("a run without a halt leaves nothing untried"),
            };
            self.settle(index, outcome);
        }
        let settled = self.outcomes.into_iter();
        settled.map(|outcome| outcome.expect("what is not untried was settled")).collect()
    }

    /// Returns the known results, and if some recipients are settled, the others as waiting.
    pub(crate) fn everyone(&self, index: usize, reason: &str) -> Vec<Recipient> {
        let (mut all, left) = self.standing(index);
        if !all.is_empty() {
            let result = RecipientResult::Deferred;
            let wait = |at: usize| {
                let address = self.mail(index).to[at].clone();
                Recipient { address, result, reply: reason.to_owned() }
            };
            all.extend(left.into_iter().map(wait));
        }
        all
    }

    /// Returns the outcome of a mail of which some recipients were settled in this call and the rest could not be
    /// asked for: it was attempted, and the settled recipients must be recorded.
    fn left_halfway(&self, index: usize) -> Outcome {
        let reason = match &self.halted {
            Some(Halt::Deferred(failure) | Halt::Refused(failure)) => failure.reason.as_str(),
            None => "not tried",
        };
        Outcome::Retryable(outcome::failure(
            self.mail(index),
            &self.everyone(index, reason),
            reason.to_owned(),
        ))
    }

    /// Decides who is at fault for refused senders: the mail, if the relay accepted another sender in the same call.
    /// Otherwise we are: a whole queue must not fail because the relay stopped trusting us.
    fn acquit(&mut self) {
        for index in std::mem::take(&mut self.suspects) {
            let from = self.mail(index).from.as_str();
            let own = !self.senders.is_empty() && !self.senders.contains(&from);
            if let (true, Some(Outcome::Refused(failure))) = (own, &mut self.outcomes[index]) {
                let mut failure = std::mem::take(failure);
                outcome::classify(&mut failure, "rejected");
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
            served: Vec::new(),
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
    fn g1_want_of_descriptors_costs_no_mail_an_attempt() {
        let batch = [envelope("1"), envelope("2")];
        let outcomes = |fault| {
            let mut run = Run::new(&batch);
            run.no_connection(fault);
            run.finish()
        };
        let free =
            |outcome: &Outcome| matches!(outcome, Outcome::Deferred(failure) if failure.after.is_some());
        assert!(outcomes(Fault::Exhausted("no descriptor".to_owned())).iter().all(free));
        let away = outcomes(Fault::unreachable("refused"));
        assert!(matches!(&away[0], Outcome::Retryable(failure) if failure.unreachable) && free(&away[1]));
    }
}
