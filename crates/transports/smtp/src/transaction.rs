//! The commands of one mail up to its text: RSET if needed, MAIL, RCPT for each recipient, DATA.
//!
//! Owns: the commands still to send and the replies received. Must not: touch the connection. Invariant: replies are
//! matched to commands in the order in which these were sent.
//!
//! A relay may accept fewer recipients at a time than a mail has (RFC 5321 4.5.3.1.10): the remaining ones go in
//! further transactions of the same attempt.

use postrider_seams::Mail;
use postrider_seams::envelope::Recipient;

use crate::classify::{Kind, Refusal, Stage, judge};
use crate::ehlo::Offers;
use crate::encode::{self, Needs};
use crate::reply::Reply;

/// Maximum commands of one write to a relay with PIPELINING, so that the buffers of both sides cannot fill up.
const WINDOW: usize = 100;

pub(crate) struct Transaction<'a> {
    pub index: usize,
    pub mail: &'a Mail,
    /// Recipients settled before this transaction: by earlier attempts, or earlier in this one.
    pub before: Vec<Recipient>,
    /// The recipients of this transaction, as indexes into the mail's.
    pub to: Vec<usize>,
    /// Recipients of a later transaction.
    pub later: Vec<usize>,
    /// Whether the relay replied that it accepts no more recipients at a time.
    pub full: bool,
    /// Places in `to` that got this reply.
    left: Vec<usize>,
    needs: Needs,
    reset: bool,
    sent: usize,
    read: usize,
    /// Number of accepted recipients.
    pub accepted: usize,
    /// Refused recipients.
    pub refused: Vec<(usize, Refusal)>,
    /// The refusal of MAIL or DATA: no recipient gets the mail.
    pub stopped: Option<Refusal>,
    /// Whether the relay waits for the text, even if no recipient was accepted.
    pub go: bool,
}

/// The reason why the connection can no longer be used.
#[derive(Debug)]
pub(crate) enum Upset {
    /// 421: the relay closes.
    Closing(Refusal),
    OutOfStep(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Reset,
    Mail,
    Rcpt(usize),
    Data,
}

impl<'a> Transaction<'a> {
    /// Creates a transaction for at most `room` recipients of `left`, which are not settled yet.
    pub(crate) fn new(
        (index, mail): (usize, &'a Mail),
        (before, left): (Vec<Recipient>, Vec<usize>),
        room: Option<usize>,
        needs: Needs,
        reset: bool,
    ) -> Self {
        let mut to = left;
        let later = to.split_off(room.unwrap_or(to.len()).clamp(1, to.len()));
        Self {
            index,
            mail,
            before,
            to,
            later,
            full: false,
            left: Vec::new(),
            needs,
            reset,
            sent: 0,
            read: 0,
            accepted: 0,
            refused: Vec::new(),
            stopped: None,
            go: false,
        }
    }

    fn step(&self, number: usize) -> Step {
        match number.checked_sub(usize::from(self.reset)) {
            None => Step::Reset,
            Some(0) => Step::Mail,
            Some(number) if number <= self.to.len() => Step::Rcpt(number - 1),
            Some(_) => Step::Data,
        }
    }

    fn steps(&self) -> usize {
        usize::from(self.reset) + self.to.len() + 2
    }

    /// Writes as many commands as one write may contain. `false` if none is left.
    pub(crate) fn speak(&mut self, out: &mut Vec<u8>, offers: &Offers) -> bool {
        let window = if offers.pipelining { WINDOW } else { 1 };
        let end = self.steps().min(self.sent + window);
        let start = self.sent;
        while self.sent < end && !self.is_vain() {
            match self.step(self.sent) {
                Step::Reset => out.extend_from_slice(b"RSET\r\n"),
                Step::Mail => encode::mail_from(out, self.mail, self.needs, offers),
                Step::Rcpt(place) => encode::rcpt_to(out, &self.mail.to[self.to[place]], self.needs),
                Step::Data => out.extend_from_slice(b"DATA\r\n"),
            }
            self.sent += 1;
        }
        self.sent > start
    }

    /// Whether it is already known that no recipient gets this mail.
    fn is_vain(&self) -> bool {
        self.stopped.is_some() || (self.accepted == 0 && self.refused.len() == self.to.len())
    }

    /// Returns the stage of the next expected reply.
    pub(crate) fn awaits(&self) -> Option<Stage> {
        (self.read < self.sent).then(|| match self.step(self.read) {
            Step::Reset => Stage::Reset,
            Step::Mail => Stage::Mail,
            Step::Rcpt(_) => Stage::Rcpt,
            Step::Data => Stage::Data,
        })
    }

    /// Whether the relay replied to a command of this mail.
    pub(crate) fn is_answered(&self) -> bool {
        self.read > usize::from(self.reset)
    }

    pub(crate) fn note(&mut self, reply: &Reply<'_>) -> Result<(), Upset> {
        let step = self.step(self.read);
        let stage = self.awaits().expect("an answer is read only while one is due");
        let judged = judge(stage, reply);
        match judged {
            Err(refusal) if refusal.code == 421 => return Err(Upset::Closing(refusal)),
            Err(refusal) if refusal.kind() == Kind::OutOfStep || step == Step::Reset => {
                return Err(Upset::OutOfStep(format!(
                    "the relay answered {} with {}",
                    stage.name(),
                    refusal.words
                )));
            }
            _ => {}
        }
        self.read += 1;
        match (step, judged) {
            (Step::Mail, Err(refusal)) => self.stopped = Some(refusal),
            (Step::Rcpt(_), Ok(())) => self.accepted += 1,
            // After a refused MAIL the rest is refused as out of order, which means nothing.
            (Step::Rcpt(place), Err(refusal)) if self.stopped.is_none() => {
                if self.accepted > 0 && refusal.is_full() {
                    self.leave(place);
                } else {
                    self.refused.push((self.to[place], refusal));
                }
            }
            (Step::Data, Ok(())) => self.go = true,
            (Step::Data, Err(refusal)) if self.stopped.is_none() && self.accepted > 0 => {
                self.stopped = Some(refusal);
            }
            _ => {}
        }
        Ok(())
    }

    /// Moves this recipient, and those not yet sent, to a later transaction, as the relay accepts no more at a time.
    fn leave(&mut self, place: usize) {
        self.full = true;
        self.left.push(place);
        let asked = self.sent.saturating_sub(usize::from(self.reset) + 1).min(self.to.len());
        self.later.splice(0..0, self.to.drain(asked..));
    }

    /// Removes the recipients of a later transaction after all commands were answered.
    pub(crate) fn narrow(&mut self) {
        for place in std::mem::take(&mut self.left).into_iter().rev() {
            self.later.insert(0, self.to.remove(place));
        }
    }

    /// Whether this reply to DATA or to the text says that there are too many recipients, so that fewer may succeed.
    pub(crate) fn is_crowded(&self, refusal: &Refusal) -> bool {
        self.accepted > 1 && refusal.is_about_too_many()
    }

    /// Whether the relay waits for a text that at least one recipient gets.
    pub(crate) fn is_wanted(&self) -> bool {
        self.go && self.accepted > 0 && self.stopped.is_none()
    }
}
