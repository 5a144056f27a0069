//! Sends mails one after another over one connection; a mail's commands share a write with the previous mail's text.
//!
//! ```text
//! MAIL RCPT… DATA ──▶ 354 ──▶ text . MAIL RCPT… DATA ──▶ 250, 354 ──▶ text . ──▶ 250
//!        └─ no recipient accepted, yet 354: a lone dot, then RSET
//!        └─ refused, no 354: RSET rides with the next
//! ```
//! RFC 2920 allows a text to begin a group of commands, so that a mail costs one round trip. A relay without
//! PIPELINING gets one command at a time. Must not: resend a mail that may have been accepted.

use postrider_seams::Outcome;
use tokio::time::Instant;

use crate::classify::{NegativeReply, ReplyKind, SmtpPhase, classify_reply};
use crate::config::Settings;
use crate::connection::Connection;
use crate::encode;
use crate::mail_batch::{MailBatch, RELAY_FAILURE_DELAY};
use crate::outcome;
use crate::rate_limiter::RateLimiter;
use crate::recipient_limit::RecipientLimit;
use crate::transaction::{AbortReason, Transaction};

mod text;

use text::MailWriteError;

/// The state of the connection afterwards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum ConnectionState {
    Usable,
    Broken,
}

pub(crate) struct SmtpSession<'s, 'a> {
    pub connection: &'s mut Connection,
    pub mails: &'s mut MailBatch<'a>,
    pub rate_limiter: &'s RateLimiter,
    pub recipient_limit: &'s RecipientLimit,
    pub settings: &'s Settings,
    pub deadline: Instant,
}

impl<'a> SmtpSession<'_, 'a> {
    /// Sends untried mails until there are none, the connection reached its limit, or something failed.
    pub(crate) async fn send_mails(mut self) -> ConnectionState {
        let mut open: Option<Transaction<'a>> = None;
        loop {
            let can_pipeline = open.is_none() || self.connection.extensions.pipelining;
            let mut next = if can_pipeline { self.next_transaction(open.is_some()).await } else { None };
            if open.is_none() && next.is_none() {
                return ConnectionState::Usable;
            }
            if let Err(failed) = self.send(open.as_ref(), next.as_mut()).await {
                self.write_failed(open, next, failed).await;
                return ConnectionState::Broken;
            }
            if let Some(open) = open.take()
                && self.read_final_reply(&open).await == ConnectionState::Broken
            {
                self.put_back(next);
                return ConnectionState::Broken;
            }
            if let Some(next) = next {
                match self.read_replies(next).await {
                    Ok(opened) => open = opened,
                    Err(()) => return ConnectionState::Broken,
                }
            }
        }
    }

    /// Returns the next mail, if the rate allows it. While a text is due, it does not wait.
    async fn next_transaction(&mut self, text: bool) -> Option<Transaction<'a>> {
        while self.connection.mails_begun < self.settings.per_connection {
            let index = self.mails.next_untried()?;
            let mail = self.mails.mail(index);
            let required = match encode::check_mail(mail, &self.connection.extensions, self.settings.max_size)
            {
                Ok(required) => required,
                Err(reason) => {
                    self.mails.begin();
                    let outcome = outcome::invalid(mail, &self.mails.all_recipients(index, &reason), reason);
                    self.mails.set_outcome(index, outcome);
                    continue;
                }
            };
            if !self.wait_for_rate(text).await {
                return None;
            }
            if !self.mails.has_time_for(index, self.deadline) {
                self.mails.out_of_time("no time left in this call for more of its recipients");
                return None;
            }
            self.mails.begin();
            if let Err(outcome) = self.mails.may_begin(index) {
                self.mails.set_outcome(index, outcome);
                continue;
            }
            self.connection.mails_begun += 1;
            let reset = std::mem::take(&mut self.connection.dirty);
            let progress = self.mails.progress(index);
            return Some(Transaction::new(
                (index, mail),
                progress,
                self.recipient_limit.get(),
                required,
                reset,
            ));
        }
        None
    }

    async fn wait_for_rate(&mut self, text: bool) -> bool {
        loop {
            let now = Instant::now();
            if now >= self.deadline {
                self.mails.out_of_time("no time left in this call");
                return false;
            }
            let Err(wait) = self.rate_limiter.take(now) else { return true };
            if text {
                return false;
            }
            if now + wait >= self.deadline {
                self.mails.out_of_time("the rate limit leaves no room in this call");
                return false;
            }
            tokio::time::sleep(wait).await;
        }
    }

    /// Writes the due text, its final dot, and the next mail's commands at once.
    async fn send(
        &mut self,
        open: Option<&Transaction<'a>>,
        next: Option<&mut Transaction<'a>>,
    ) -> Result<(), MailWriteError> {
        let mut dot = usize::MAX;
        if let Some(open) = open {
            if open.has_text_to_send() {
                self.write_text(open.mail).await?;
            } else {
                self.connection.out.extend_from_slice(b".\r\n");
            }
            dot = self.connection.out.len() - b".\r\n".len();
        }
        if let Some(next) = next {
            next.write_commands(&mut self.connection.out, &self.connection.extensions);
        }
        self.connection
            .flush(self.deadline)
            .await
            .map_err(|failed| MailWriteError { error: failed.error, dot_sent: failed.written > dot })
    }

    /// Handles a failed write, depending on whether the final dot may have been sent.
    async fn write_failed(
        &mut self,
        open: Option<Transaction<'a>>,
        next: Option<Transaction<'a>>,
        lost: MailWriteError,
    ) {
        let Some(open) = open else {
            if let Some(next) = next {
                self.connection_lost(&next, &lost.error.to_string());
            }
            return;
        };
        self.put_back(next);
        if !open.has_text_to_send() {
            return;
        }
        let last_reply = self.connection.last_reply(self.deadline).await;
        let outcome = match last_reply.map(|reply| (classify_reply(SmtpPhase::FinalDot, &reply), reply)) {
            Some((Ok(()), _)) if lost.dot_sent && !open.later.is_empty() => {
                let settled = outcome::results_so_far(&open);
                return self.mails.continue_later(&open, settled, open.later.clone());
            }
            Some((Ok(()), reply)) if lost.dot_sent => outcome::delivered(&open, &reply),
            Some((Err(refusal), _)) => refused_text(&open, &refusal),
            _ if lost.dot_sent => outcome::uncertain(&open, &lost.error.to_string()),
            _ => outcome::connection_lost(&open, &lost.error.to_string()),
        };
        self.mails.set_outcome(open.index, outcome);
    }

    /// Reads the reply to the final dot.
    async fn read_final_reply(&mut self, open: &Transaction<'a>) -> ConnectionState {
        let (outcome, end) = match self.connection.reply(SmtpPhase::FinalDot, self.deadline).await {
            Err(error) => (outcome::uncertain(open, &error.to_string()), ConnectionState::Broken),
            Ok(reply) => match classify_reply(SmtpPhase::FinalDot, &reply) {
                Ok(()) => {
                    self.mails.clear_losses();
                    if open.has_text_to_send() && !open.later.is_empty() {
                        self.mails.continue_later(open, outcome::results_so_far(open), open.later.clone());
                        return ConnectionState::Usable;
                    }
                    (outcome::delivered(open, &reply), ConnectionState::Usable)
                }
                // Not a reply to the text: the mail may have been accepted.
                Err(refusal) if refusal.kind() == ReplyKind::Unexpected => {
                    (outcome::uncertain(open, &refusal.text), ConnectionState::Broken)
                }
                Err(refusal) if open.has_text_to_send() && open.has_too_many_recipients(&refusal) => {
                    self.halve_recipients(open);
                    return ConnectionState::Usable;
                }
                Err(refusal) => {
                    self.apply_refusal(&refusal);
                    let end =
                        if refusal.code == 421 { ConnectionState::Broken } else { ConnectionState::Usable };
                    (refused_text(open, &refusal), end)
                }
            },
        };
        // After a lone dot the outcome was already known; relays differ in how they answer an empty mail.
        if open.has_text_to_send() {
            self.mails.set_outcome(open.index, outcome);
        }
        end
    }

    /// Reads the replies to a mail's commands and sends the remaining ones. `Some` if the relay waits for a text.
    async fn read_replies(&mut self, mut mail: Transaction<'a>) -> Result<Option<Transaction<'a>>, ()> {
        loop {
            while let Some(phase) = mail.expected_reply() {
                let result = match self.connection.reply(phase, self.deadline).await {
                    Ok(reply) => mail.record_reply(&reply),
                    Err(error) => {
                        self.connection_lost(&mail, &error.to_string());
                        return Err(());
                    }
                };
                if let Err(reason) = result {
                    self.abort(&mail, reason);
                    return Err(());
                }
            }
            if !mail.write_commands(&mut self.connection.out, &self.connection.extensions) {
                return self.after_commands(mail);
            }
            if let Err(failed) = self.connection.flush(self.deadline).await {
                self.connection_lost(&mail, &failed.error.to_string());
                return Err(());
            }
        }
    }

    /// Settles what is clear after all commands were answered, and keeps the mail that waits for its text. Errs if its
    /// recipients need another connection.
    fn after_commands(&mut self, mut mail: Transaction<'a>) -> Result<Option<Transaction<'a>>, ()> {
        mail.remove_postponed();
        if mail.hits_session_limit() {
            // What was learnt on this connection may have been the rest that it had left.
            self.recipient_limit.forget();
            if self.is_reused() {
                self.mails.put_back(mail.index);
                return Err(());
            }
        }
        // A used connection may have less left than a transaction on a new one.
        if mail.recipient_limit_reached && (!self.is_reused() || self.recipient_limit.get().is_none()) {
            self.recipient_limit.learn(mail.accepted);
        }
        for (_, refusal) in &mail.refused {
            self.apply_refusal(refusal);
        }
        let mail_accepted = !matches!(&mail.stopped, Some(refusal) if refusal.phase == SmtpPhase::Mail);
        if mail_accepted {
            self.mails.sender_accepted(mail.mail);
        }
        if mail.has_text_to_send() {
            return Ok(Some(mail));
        }
        let refused_us = mail.refused.iter().any(|(_, refusal)| refusal.kind() == ReplyKind::Refused);
        let goes_on = mail.stopped.is_none() && !refused_us && !mail.hits_session_limit();
        if goes_on && !mail.later.is_empty() {
            self.mails.continue_later(&mail, outcome::results_so_far(&mail), mail.later.clone());
            self.connection.dirty = true;
            return Ok(mail.data_accepted.then_some(mail));
        }
        let outcome = match &mail.stopped {
            Some(refusal) if mail.has_too_many_recipients(refusal) => {
                self.halve_recipients(&mail);
                self.connection.dirty = true;
                return Ok(None);
            }
            Some(refusal) => {
                self.apply_refusal(refusal);
                outcome::command_refused(&mail, refusal)
            }
            None => outcome::no_recipient_accepted(&mail),
        };
        if matches!(&mail.stopped, Some(refusal) if refusal.kind() == ReplyKind::SenderRefused) {
            self.mails.sender_was_refused(mail.index);
        }
        self.mails.set_outcome(mail.index, outcome);
        self.mails.clear_losses();
        self.connection.dirty = true;
        Ok(mail.data_accepted.then_some(mail))
    }

    /// Halves the recipients per transaction within the same attempt, after the relay accepted each but refused them
    /// together.
    fn halve_recipients(&mut self, mail: &Transaction<'a>) {
        self.recipient_limit.learn(mail.accepted / 2);
        let (settled, remaining) = outcome::after_refused_text(mail);
        self.mails.continue_later(mail, settled, remaining);
    }

    /// Applies a refusal to the mails after it.
    fn apply_refusal(&mut self, refusal: &NegativeReply) {
        if refusal.classification.slow {
            self.rate_limiter.slow_down(Instant::now());
            self.mails
                .defer_rest(&format!("the relay asked for less: {}", refusal.text), RELAY_FAILURE_DELAY);
        }
        if refusal.kind() == ReplyKind::Refused {
            let mut failure = postrider_seams::Failure::new(refusal.text.clone());
            outcome::set_class(&mut failure, "unauthorized");
            self.mails.refuse_rest(failure);
        }
    }

    fn abort(&mut self, mail: &Transaction<'a>, reason: AbortReason) {
        match reason {
            AbortReason::Unexpected(reason) => self.connection_lost(mail, &reason),
            // Relays close after a number of mails or recipients: not this mail's fault, and not an attempt.
            AbortReason::Closing(_)
                if self.is_reused() && (!mail.is_answered() || mail.is_later_transaction()) =>
            {
                self.mails.put_back(mail.index);
            }
            AbortReason::Closing(refusal) => {
                self.apply_refusal(&refusal);
                if !self.is_reused() {
                    self.mails.defer_rest(
                        &format!("the relay closed at once: {}", refusal.text),
                        RELAY_FAILURE_DELAY,
                    );
                }
                self.mails.set_outcome(mail.index, outcome::relay_closed(mail, &refusal));
            }
        }
    }

    /// Handles a connection that broke before the mail's text. The mail counts as untried unless the relay answered a
    /// command of it or the connection was new.
    fn connection_lost(&mut self, mail: &Transaction<'a>, reason: &str) {
        if !mail.is_answered() && self.is_reused() {
            self.mails.put_back(mail.index);
            return;
        }
        self.mails.set_outcome(mail.index, outcome::connection_lost(mail, reason));
        if !self.is_reused() {
            self.mails.count_loss(reason);
        }
    }

    /// Whether the connection was used before this mail.
    fn is_reused(&self) -> bool {
        self.connection.was_idle || self.connection.mails_begun > 1
    }

    fn put_back(&mut self, next: Option<Transaction<'a>>) {
        if let Some(next) = next {
            self.mails.put_back(next.index);
        }
    }
}

/// Returns the outcome if the relay refused the text. With 421 it closes and may be shutting down.
fn refused_text(mail: &Transaction<'_>, refusal: &NegativeReply) -> Outcome {
    if refusal.code == 421 {
        outcome::relay_closed(mail, refusal)
    } else {
        outcome::command_refused(mail, refusal)
    }
}
