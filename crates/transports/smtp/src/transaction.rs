//! The commands of one mail up to its text: RSET if needed, MAIL, RCPT for each recipient, DATA.
//!
//! Owns: the commands still to send and the replies received. Must not: touch the connection. Invariant: replies are
//! matched to commands in the order in which these were sent.
//!
//! A relay may accept fewer recipients at a time than a mail has (RFC 5321 4.5.3.1.10): the remaining ones go in
//! further transactions of the same attempt.

use postrider_seams::Mail;
use postrider_seams::envelope::Recipient;
use tokio::time::Instant;

use crate::classify::{NegativeReply, ReplyKind, SmtpPhase, classify_reply};
use crate::ehlo::Extensions;
use crate::encode::{self, RequiredExtensions};
use crate::reply::Reply;

/// Maximum commands of one write to a relay with PIPELINING, so that the buffers of both sides cannot fill up.
const MAX_PIPELINED: usize = 100;

pub(crate) struct Transaction<'a> {
    pub index: usize,
    pub mail: &'a Mail,
    pub begun: Instant,
    /// Recipients settled before this transaction: by earlier attempts, or earlier in this one.
    pub settled: Vec<Recipient>,
    /// The recipients of this transaction, as indexes into the mail's.
    pub to: Vec<usize>,
    /// Recipients of a later transaction.
    pub later: Vec<usize>,
    /// Whether the relay replied that it accepts no more recipients at a time.
    pub recipient_limit_reached: bool,
    /// Places in `to` that got this reply.
    postponed: Vec<usize>,
    required: RequiredExtensions,
    reset: bool,
    sent: usize,
    read: usize,
    /// Number of accepted recipients.
    pub accepted: usize,
    /// Refused recipients.
    pub refused: Vec<(usize, NegativeReply)>,
    /// The refusal of MAIL or DATA: no recipient gets the mail.
    pub stopped: Option<NegativeReply>,
    /// Whether the relay waits for the text, even if no recipient was accepted.
    pub data_accepted: bool,
}

/// The reason why the connection can no longer be used.
#[derive(Debug)]
pub(crate) enum AbortReason {
    /// 421: the relay closes.
    Closing(NegativeReply),
    Unexpected(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SmtpCommand {
    Reset,
    Mail,
    Rcpt(usize),
    Data,
}

impl<'a> Transaction<'a> {
    /// Creates a transaction for at most `limit` recipients of `postponed`, which are not settled yet.
    pub(crate) fn new(
        (index, mail): (usize, &'a Mail),
        (settled, postponed): (Vec<Recipient>, Vec<usize>),
        limit: Option<usize>,
        required: RequiredExtensions,
        reset: bool,
    ) -> Self {
        let mut to = postponed;
        let later = to.split_off(limit.unwrap_or(to.len()).clamp(1, to.len()));
        Self {
            index,
            mail,
            begun: Instant::now(),
            settled,
            to,
            later,
            recipient_limit_reached: false,
            postponed: Vec::new(),
            required,
            reset,
            sent: 0,
            read: 0,
            accepted: 0,
            refused: Vec::new(),
            stopped: None,
            data_accepted: false,
        }
    }

    fn command_at(&self, number: usize) -> SmtpCommand {
        match number.checked_sub(usize::from(self.reset)) {
            None => SmtpCommand::Reset,
            Some(0) => SmtpCommand::Mail,
            Some(number) if number <= self.to.len() => SmtpCommand::Rcpt(number - 1),
            Some(_) => SmtpCommand::Data,
        }
    }

    fn command_count(&self) -> usize {
        usize::from(self.reset) + self.to.len() + 2
    }

    /// Writes as many commands as one write may contain. `false` if none is left.
    pub(crate) fn write_commands(&mut self, out: &mut Vec<u8>, extensions: &Extensions) -> bool {
        let window = if extensions.pipelining { MAX_PIPELINED } else { 1 };
        let end = self.command_count().min(self.sent + window);
        let start = self.sent;
        while self.sent < end && !self.no_recipient_left() {
            match self.command_at(self.sent) {
                SmtpCommand::Reset => out.extend_from_slice(b"RSET\r\n"),
                SmtpCommand::Mail => encode::mail_from(out, self.mail, self.required, extensions),
                SmtpCommand::Rcpt(position) => {
                    encode::rcpt_to(out, &self.mail.to[self.to[position]], self.required);
                }
                SmtpCommand::Data => out.extend_from_slice(b"DATA\r\n"),
            }
            self.sent += 1;
        }
        self.sent > start
    }

    /// Whether it is already known that no recipient gets this mail.
    fn no_recipient_left(&self) -> bool {
        self.stopped.is_some() || (self.accepted == 0 && self.refused.len() == self.to.len())
    }

    /// Returns the stage of the next expected reply.
    pub(crate) fn expected_reply(&self) -> Option<SmtpPhase> {
        (self.read < self.sent).then(|| match self.command_at(self.read) {
            SmtpCommand::Reset => SmtpPhase::Reset,
            SmtpCommand::Mail => SmtpPhase::Mail,
            SmtpCommand::Rcpt(_) => SmtpPhase::Rcpt,
            SmtpCommand::Data => SmtpPhase::Data,
        })
    }

    /// Whether other recipients of this mail were settled earlier in this attempt.
    pub(crate) fn is_later_transaction(&self) -> bool {
        self.settled.len() > self.mail.settled.len()
    }

    /// Whether the relay replied to a command of this mail.
    pub(crate) fn is_answered(&self) -> bool {
        self.read > usize::from(self.reset)
    }

    pub(crate) fn record_reply(&mut self, reply: &Reply<'_>) -> Result<(), AbortReason> {
        let command = self.command_at(self.read);
        let phase = self.expected_reply().expect("an answer is read only while one is due");
        let classified = classify_reply(phase, reply);
        match classified {
            Err(refusal) if refusal.code == 421 => return Err(AbortReason::Closing(refusal)),
            Err(refusal) if refusal.kind() == ReplyKind::Unexpected || command == SmtpCommand::Reset => {
                return Err(AbortReason::Unexpected(format!(
                    "the relay answered {} with {}",
                    phase.name(),
                    refusal.text
                )));
            }
            _ => {}
        }
        self.read += 1;
        match (command, classified) {
            (SmtpCommand::Mail, Err(refusal)) => self.stopped = Some(refusal),
            (SmtpCommand::Rcpt(_), Ok(())) => {
                self.accepted += 1;
                // The refusal before it was about one mailbox.
                self.recipient_limit_reached = false;
            }
            // After a refused MAIL the rest is refused as out of order, which means nothing.
            (SmtpCommand::Rcpt(position), Err(refusal)) if self.stopped.is_none() => {
                if self.accepted > 0 && refusal.is_recipient_limit() {
                    self.postpone(position);
                } else {
                    self.refused.push((self.to[position], refusal));
                }
            }
            (SmtpCommand::Data, Ok(())) => self.data_accepted = true,
            (SmtpCommand::Data, Err(refusal)) if self.stopped.is_none() && self.accepted > 0 => {
                self.stopped = Some(refusal);
            }
            _ => {}
        }
        Ok(())
    }

    /// Moves this recipient, and those not yet sent, to a later transaction, as the relay accepts no more at a time.
    fn postpone(&mut self, position: usize) {
        self.recipient_limit_reached = true;
        self.postponed.push(position);
        let asked = self.sent.saturating_sub(usize::from(self.reset) + 1).min(self.to.len());
        self.later.splice(0..0, self.to.drain(asked..));
    }

    /// Removes the recipients of a later transaction after all commands were answered.
    pub(crate) fn remove_postponed(&mut self) {
        for position in std::mem::take(&mut self.postponed).into_iter().rev() {
            self.later.insert(0, self.to.remove(position));
        }
    }

    /// Whether this reply to DATA or to the text says that there are too many recipients, so that fewer may succeed.
    pub(crate) fn has_too_many_recipients(&self, refusal: &NegativeReply) -> bool {
        self.accepted > 1 && refusal.says_too_many_recipients()
    }

    /// Whether the relay accepted no recipient because it accepts no more in this session. A bare reply to one recipient
    /// is about its mailbox.
    pub(crate) fn hits_session_limit(&self) -> bool {
        let mut refusals = self.refused.iter().map(|(_, refusal)| refusal);
        self.accepted == 0
            && self.stopped.is_none()
            && (refusals.clone().any(NegativeReply::says_too_many_recipients)
                || (self.refused.len() > 1 && refusals.all(NegativeReply::is_recipient_limit)))
    }

    /// Whether the relay waits for a text that at least one recipient gets.
    pub(crate) fn has_text_to_send(&self) -> bool {
        self.data_accepted && self.accepted > 0 && self.stopped.is_none()
    }
}
