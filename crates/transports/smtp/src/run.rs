//! One call's mails: which are still to be tried, and what became of the others.
//!
//! Invariant: every mail has exactly one outcome when the run finishes; one that was never tried costs nothing (G1).

use std::collections::VecDeque;
use std::time::Duration;

use postrider_seams::{Content, Envelope, Failure, Mail, Outcome};

use crate::error::Fault;
use crate::outcome;

/// New connections in a row that broke in their first mail before the rest of the call is left for later.
const LOSSES: u32 = 2;
/// How long untried mails wait when the relay is in trouble.
const TROUBLE: Duration = Duration::from_secs(10);
/// How long they wait when only time ran out.
const SHORTLY: Duration = Duration::from_secs(1);

enum Halt {
    /// Never tried.
    Deferred(Failure),
    /// The relay refuses us, so it refuses all the rest.
    Refused(Failure),
}

pub(crate) struct Run<'a> {
    batch: &'a [Envelope],
    outcomes: Vec<Option<Outcome>>,
    untried: VecDeque<usize>,
    /// What becomes of the mails that are still untried.
    halted: Option<Halt>,
    losses: u32,
    /// Senders that the relay took in this call.
    senders: Vec<&'a str>,
    /// Mails whose sender it did not take: refused by themselves, or are we?
    suspects: Vec<usize>,
}

impl<'a> Run<'a> {
    pub(crate) fn new(batch: &'a [Envelope]) -> Self {
        let mut run = Self {
            batch,
            outcomes: vec![None; batch.len()],
            untried: (0..batch.len()).collect(),
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

    /// The next mail to try, which stays untried until [`Run::begin`].
    pub(crate) fn peek(&self) -> Option<usize> {
        if self.halted.is_some() { None } else { self.untried.front().copied() }
    }

    pub(crate) fn begin(&mut self) {
        self.untried.pop_front();
    }

    /// It was not tried after all.
    pub(crate) fn put_back(&mut self, index: usize) {
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

    /// Leaves the untried for later, at no cost.
    pub(crate) fn defer_rest(&mut self, reason: &str, after: Option<Duration>, unreachable: bool) {
        let failure = Failure {
            after: Some(after.unwrap_or(TROUBLE)),
            unreachable,
            ..Failure::new(format!("not tried: {reason}"))
        };
        self.halted.get_or_insert(Halt::Deferred(failure));
    }

    pub(crate) fn out_of_time(&mut self, reason: &str) {
        self.defer_rest(reason, Some(SHORTLY), false);
    }

    pub(crate) fn refuse_rest(&mut self, failure: Failure) {
        self.halted.get_or_insert(Halt::Refused(failure));
    }

    /// A new connection broke in its first mail.
    pub(crate) fn count_loss(&mut self, reason: &str) {
        self.losses += 1;
        if self.losses >= LOSSES {
            self.defer_rest(reason, None, false);
        }
    }

    pub(crate) fn clear_losses(&mut self) {
        self.losses = 0;
    }

    /// No connection could be had: the mail whose turn it was has failed, the rest was never tried.
    pub(crate) fn no_connection(&mut self, fault: Fault) {
        match fault {
            Fault::Refused(reason) => {
                let mut failure = Failure::new(reason);
                outcome::classify(&mut failure, "unauthorized");
                self.refuse_rest(failure);
            }
            Fault::Unreachable { reason, after, .. } => self.unreachable(&reason, after),
            Fault::Lost(reason) => self.unreachable(&reason, None),
        }
    }

    fn unreachable(&mut self, reason: &str, after: Option<Duration>) {
        if let Some(index) = self.peek() {
            self.begin();
            let mut failure = outcome::failure(self.mail(index), reason.to_owned());
            outcome::classify(&mut failure, "network_error");
            failure.after = after;
            failure.unreachable = true;
            self.settle(index, Outcome::Retryable(failure));
        }
        self.defer_rest(reason, after, true);
    }

    pub(crate) fn finish(mut self) -> Vec<Outcome> {
        self.acquit();
        for index in std::mem::take(&mut self.untried) {
            let mail = self.mail(index);
            let outcome = match &self.halted {
                Some(Halt::Refused(failure)) => Outcome::Refused(outcome::keep_served(mail, failure.clone())),
                Some(Halt::Deferred(failure)) => {
                    Outcome::Deferred(outcome::keep_served(mail, failure.clone()))
                }
                None => unreachable!("a run without a halt leaves nothing untried"),
            };
            self.settle(index, outcome);
        }
        let settled = self.outcomes.into_iter();
        settled.map(|outcome| outcome.expect("what is not untried was settled")).collect()
    }

    /// A sender refused while another was taken in the same call is that mail's own trouble. Without another to
    /// compare with, it is ours: a whole queue must not fail because the relay stopped trusting us.
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
