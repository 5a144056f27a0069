//! Sends mails one after another over one connection; a mail's commands share a write with the previous mail's text.
//!
//! ```text
//! MAIL RCPT… DATA ──▶ 354 ──▶ text . MAIL RCPT… DATA ──▶ 250, 354 ──▶ text . ──▶ 250
//!        └─ no recipient accepted, yet 354: a lone dot, then RSET
//!        └─ refused, no 354: RSET rides with the next
//! ```
//! RFC 2920 allows a text to begin a group of commands, so that a mail costs one round trip. A relay without
//! PIPELINING gets one command at a time. Must not: resend a mail that may have been accepted.

use postrider_seams::rest::Blocks;
use postrider_seams::{Mail, Outcome};
use tokio::time::Instant;

use crate::classify::{Kind, Refusal, Stage, judge};
use crate::config::Settings;
use crate::connection::Connection;
use crate::encode;
use crate::error::Fault;
use crate::outcome;
use crate::pace::Pace;
use crate::room::Room;
use crate::run::{Run, TROUBLE};
use crate::transaction::{Transaction, Upset};

/// Size of the blocks in which a text is written, in bytes.
const BLOCK: usize = 256 * 1024;

/// The state of the connection afterwards.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum End {
    Sound,
    Broken,
}

pub(crate) struct Session<'s, 'a> {
    pub connection: &'s mut Connection,
    pub run: &'s mut Run<'a>,
    pub pace: &'s Pace,
    pub room: &'s Room,
    pub settings: &'s Settings,
    pub deadline: Instant,
}

impl<'a> Session<'_, 'a> {
    /// Sends untried mails until there are none, the connection reached its limit, or something failed.
    pub(crate) async fn carry(mut self) -> End {
        let mut open: Option<Transaction<'a>> = None;
        loop {
            let may_ride = open.is_none() || self.connection.offers.pipelining;
            let mut next = if may_ride { self.begin(open.is_some()).await } else { None };
            if open.is_none() && next.is_none() {
                return End::Sound;
            }
            if let Err(cut) = self.send(open.as_ref(), next.as_mut()).await {
                self.cut(open, next, cut).await;
                return End::Broken;
            }
            if let Some(open) = open.take()
                && self.conclude(&open).await == End::Broken
            {
                self.untry(next);
                return End::Broken;
            }
            if let Some(next) = next {
                match self.converse(next).await {
                    Ok(opened) => open = opened,
                    Err(()) => return End::Broken,
                }
            }
        }
    }

    /// Returns the next mail, if the rate allows it. While a text is due, it does not wait.
    async fn begin(&mut self, text: bool) -> Option<Transaction<'a>> {
        while self.connection.carried < self.settings.per_connection {
            let index = self.run.peek()?;
            let mail = self.run.mail(index);
            let needs = match encode::check(mail, &self.connection.offers, self.settings.max_size) {
                Ok(needs) => needs,
                Err(reason) => {
                    self.run.begin();
                    let outcome = outcome::invalid(mail, &self.run.everyone(index, &reason), reason);
                    self.run.settle(index, outcome);
                    continue;
                }
            };
            if !self.may_go(text).await {
                return None;
            }
            self.run.begin();
            if let Err(outcome) = self.run.may_begin(index) {
                self.run.settle(index, outcome);
                continue;
            }
            self.connection.carried += 1;
            let reset = std::mem::take(&mut self.connection.dirty);
            let standing = self.run.standing(index);
            return Some(Transaction::new((index, mail), standing, self.room.get(), needs, reset));
        }
        None
    }

    async fn may_go(&mut self, text: bool) -> bool {
        loop {
            let now = Instant::now();
            if now >= self.deadline {
                self.run.out_of_time("no time left in this call");
                return false;
            }
            let Err(wait) = self.pace.take(now) else { return true };
            if text {
                return false;
            }
            if now + wait >= self.deadline {
                self.run.out_of_time("the rate limit leaves no room in this call");
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
    ) -> Result<(), Lost> {
        let mut dot = usize::MAX;
        if let Some(open) = open {
            if open.is_wanted() {
                self.text(open.mail).await?;
            } else {
                self.connection.out.extend_from_slice(b".\r\n");
            }
            dot = self.connection.out.len() - b".\r\n".len();
        }
        if let Some(next) = next {
            next.speak(&mut self.connection.out, &self.connection.offers);
        }
        self.connection
            .flush(self.deadline)
            .await
            .map_err(|cut| Lost { fault: cut.fault, taken: cut.written > dot })
    }

    async fn text(&mut self, mail: &Mail) -> Result<(), Lost> {
        for piece in encode::stuffed(&mail.message).flat_map(|piece| piece.chunks(BLOCK)) {
            self.put(piece).await?;
        }
        let Some(rest) = &mail.rest else {
            self.connection.out.extend_from_slice(encode::ending(&mail.message));
            return Ok(());
        };
        let mut blocks = rest.blocks();
        let mut stuffer = encode::Stuffer::default();
        while let Some(block) = self.read(&mut blocks).await? {
            for piece in stuffer.stuffed(&block).flat_map(|piece| piece.chunks(BLOCK)) {
                self.put(piece).await?;
            }
        }
        // The text always ends with a line end.
        self.connection.out.extend_from_slice(b".\r\n");
        Ok(())
    }

    async fn put(&mut self, piece: &[u8]) -> Result<(), Lost> {
        if self.connection.out.len() + piece.len() > BLOCK {
            let flushed = self.connection.flush(self.deadline).await;
            flushed.map_err(|cut| Lost { fault: cut.fault, taken: false })?;
        }
        self.connection.out.extend_from_slice(piece);
        Ok(())
    }

    /// Reads the next block. A read error closes the connection before the final dot, so that no mail was sent.
    async fn read(&self, blocks: &mut Blocks) -> Result<Option<Vec<u8>>, Lost> {
        let lost = |reason: String| Lost { fault: Fault::Lost(reason), taken: false };
        match tokio::time::timeout_at(self.deadline, blocks.next()).await {
            Ok(read) => read.map_err(|error| lost(format!("the message's file: {error}"))),
            Err(_) => Err(lost("the message's file could not be read in time".to_owned())),
        }
    }

    /// Handles a failed write, depending on whether the final dot may have been sent.
    async fn cut(&mut self, open: Option<Transaction<'a>>, next: Option<Transaction<'a>>, lost: Lost) {
        let Some(open) = open else {
            if let Some(next) = next {
                self.lose(&next, &lost.fault.to_string());
            }
            return;
        };
        self.untry(next);
        if !open.is_wanted() {
            return;
        }
        let words = self.connection.last_words(self.deadline).await;
        let outcome = match words.map(|reply| (judge(Stage::End, &reply), reply)) {
            Some((Ok(()), _)) if lost.taken && !open.later.is_empty() => {
                return self.run.go_on(open.index, outcome::so_far(&open), open.later);
            }
            Some((Ok(()), reply)) if lost.taken => outcome::delivered(&open, &reply),
            Some((Err(refusal), _)) => refused_text(&open, &refusal),
            _ if lost.taken => outcome::uncertain(&open, &lost.fault.to_string()),
            _ => outcome::lost(&open, &lost.fault.to_string()),
        };
        self.run.settle(open.index, outcome);
    }

    /// Reads the reply to the final dot.
    async fn conclude(&mut self, open: &Transaction<'a>) -> End {
        let (outcome, end) = match self.connection.reply(Stage::End, self.deadline).await {
            Err(fault) => (outcome::uncertain(open, &fault.to_string()), End::Broken),
            Ok(reply) => match judge(Stage::End, &reply) {
                Ok(()) => {
                    self.run.clear_losses();
                    if open.is_wanted() && !open.later.is_empty() {
                        self.run.go_on(open.index, outcome::so_far(open), open.later.clone());
                        return End::Sound;
                    }
                    (outcome::delivered(open, &reply), End::Sound)
                }
                // Not a reply to the text: the mail may have been accepted.
                Err(refusal) if refusal.kind() == Kind::OutOfStep => {
                    (outcome::uncertain(open, &refusal.words), End::Broken)
                }
                Err(refusal) if open.is_wanted() && open.is_crowded(&refusal) => {
                    self.halve(open);
                    return End::Sound;
                }
                Err(refusal) => {
                    self.heed(&refusal);
                    let end = if refusal.code == 421 { End::Broken } else { End::Sound };
                    (refused_text(open, &refusal), end)
                }
            },
        };
        // After a lone dot the outcome was already known; relays differ in how they answer an empty mail.
        if open.is_wanted() {
            self.run.settle(open.index, outcome);
        }
        end
    }

    /// Reads the replies to a mail's commands and sends the remaining ones. `Some` if the relay waits for a text.
    async fn converse(&mut self, mut mail: Transaction<'a>) -> Result<Option<Transaction<'a>>, ()> {
        loop {
            while let Some(stage) = mail.awaits() {
                let noted = match self.connection.reply(stage, self.deadline).await {
                    Ok(reply) => mail.note(&reply),
                    Err(fault) => {
                        self.lose(&mail, &fault.to_string());
                        return Err(());
                    }
                };
                if let Err(upset) = noted {
                    self.upset(&mail, upset);
                    return Err(());
                }
            }
            if !mail.speak(&mut self.connection.out, &self.connection.offers) {
                return Ok(self.opened(mail));
            }
            if let Err(cut) = self.connection.flush(self.deadline).await {
                self.lose(&mail, &cut.fault.to_string());
                return Err(());
            }
        }
    }

    /// Settles what is clear after all commands were answered, and keeps the mail that waits for its text.
    fn opened(&mut self, mut mail: Transaction<'a>) -> Option<Transaction<'a>> {
        mail.narrow();
        if mail.full {
            self.room.learn(mail.accepted);
        }
        for (_, refusal) in &mail.refused {
            self.heed(refusal);
        }
        let mail_accepted = !matches!(&mail.stopped, Some(refusal) if refusal.stage == Stage::Mail);
        if mail_accepted {
            self.run.sender_accepted(mail.mail);
        }
        if mail.is_wanted() {
            return Some(mail);
        }
        let refused_us = mail.refused.iter().any(|(_, refusal)| refusal.kind() == Kind::Refused);
        if mail.stopped.is_none() && !mail.later.is_empty() && !refused_us {
            self.run.go_on(mail.index, outcome::so_far(&mail), mail.later.clone());
            self.connection.dirty = true;
            return mail.go.then_some(mail);
        }
        let outcome = match &mail.stopped {
            Some(refusal) if mail.is_crowded(refusal) => {
                self.halve(&mail);
                self.connection.dirty = true;
                return None;
            }
            Some(refusal) => {
                self.heed(refusal);
                outcome::stopped(&mail, refusal)
            }
            None => outcome::nobody(&mail),
        };
        if matches!(&mail.stopped, Some(refusal) if refusal.kind() == Kind::Suspect) {
            self.run.suspect(mail.index);
        }
        self.run.settle(mail.index, outcome);
        self.run.clear_losses();
        self.connection.dirty = true;
        mail.go.then_some(mail)
    }

    /// Halves the recipients per transaction within the same attempt, after the relay accepted each but refused them
    /// together.
    fn halve(&mut self, mail: &Transaction<'a>) {
        self.room.learn(mail.accepted / 2);
        let (settled, left) = outcome::without_text(mail);
        self.run.go_on(mail.index, settled, left);
    }

    /// Applies a refusal to the mails after it.
    fn heed(&mut self, refusal: &Refusal) {
        if refusal.judgement.slow {
            self.pace.slow_down(Instant::now());
            self.run.defer_rest(&format!("the relay asked for less: {}", refusal.words), TROUBLE);
        }
        if refusal.kind() == Kind::Refused {
            let mut failure = postrider_seams::Failure::new(refusal.words.clone());
            outcome::classify(&mut failure, "unauthorized");
            self.run.refuse_rest(failure);
        }
    }

    fn upset(&mut self, mail: &Transaction<'a>, upset: Upset) {
        match upset {
            Upset::OutOfStep(reason) => self.lose(mail, &reason),
            // Relays close after a number of mails: not this mail's fault, and not an attempt.
            Upset::Closing(_) if !mail.is_answered() && self.is_worn() => {
                self.run.put_back(mail.index);
            }
            Upset::Closing(refusal) => {
                self.heed(&refusal);
                if !self.is_worn() {
                    self.run.defer_rest(&format!("the relay closed at once: {}", refusal.words), TROUBLE);
                }
                self.run.settle(mail.index, outcome::closed(mail, &refusal));
            }
        }
    }

    /// Handles a connection that broke before the mail's text. The mail counts as untried unless the relay answered a
    /// command of it or the connection was new.
    fn lose(&mut self, mail: &Transaction<'a>, reason: &str) {
        if !mail.is_answered() && self.is_worn() {
            self.run.put_back(mail.index);
            return;
        }
        self.run.settle(mail.index, outcome::lost(mail, reason));
        if !self.is_worn() {
            self.run.count_loss(reason);
        }
    }

    /// Whether the connection was used before this mail.
    fn is_worn(&self) -> bool {
        self.connection.rested || self.connection.carried > 1
    }

    fn untry(&mut self, next: Option<Transaction<'a>>) {
        if let Some(next) = next {
            self.run.put_back(next.index);
        }
    }
}

/// Returns the outcome if the relay refused the text. With 421 it closes and may be shutting down.
fn refused_text(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    if refusal.code == 421 { outcome::closed(mail, refusal) } else { outcome::stopped(mail, refusal) }
}

/// A write that failed.
struct Lost {
    fault: Fault,
    /// Whether the final dot may have been received.
    taken: bool,
}
