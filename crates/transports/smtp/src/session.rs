//! Mails one after another over one connection, the next one's commands in the same write as the last one's text.
//!
//! ```text
//! MAIL RCPT… DATA ──▶ 354 ──▶ text . MAIL RCPT… DATA ──▶ 250, 354 ──▶ text . ──▶ 250
//!        └─ nobody accepted, yet 354: a lone dot, then RSET
//!        └─ refused, no 354: RSET rides with the next
//! ```
//! RFC 2920 lets a text begin a group of commands, so that a mail costs one round trip. A relay without PIPELINING
//! gets one command at a time. Must not: send a mail again that may have been taken.

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

/// A text is copied to the network in pieces of this size.
const BLOCK: usize = 256 * 1024;

/// What is left of the connection.
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
    /// Sends untried mails until there are none, the connection is worn, or something is wrong.
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

    /// The next mail that may go, if its time has come. With a text to send, nothing is waited for.
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

    /// One write: the text that is due, its final dot, and the next mail's commands.
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
        // It always ends with a line's end.
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

    /// A file that can't be read on ends the connection before the final dot, so that nothing was sent.
    async fn read(&self, blocks: &mut Blocks) -> Result<Option<Vec<u8>>, Lost> {
        let lost = |reason: String| Lost { fault: Fault::Lost(reason), taken: false };
        match tokio::time::timeout_at(self.deadline, blocks.next()).await {
            Ok(read) => read.map_err(|error| lost(format!("the message's file: {error}"))),
            Err(_) => Err(lost("the message's file could not be read in time".to_owned())),
        }
    }

    /// The write broke off: was the dot in it?
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

    /// Reads the answer to the final dot.
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
                // Not an answer to the text: it may have been taken.
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
        // After a lone dot the outcome was known before; what a relay makes of an empty mail to nobody varies.
        if open.is_wanted() {
            self.run.settle(open.index, outcome);
        }
        end
    }

    /// Reads the answers to a mail's commands, sending what is left of them. `Some` if the relay waits for a text.
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

    /// All commands are answered: settle what is clear, keep what waits for its text.
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

    /// The relay accepted the recipients one by one, and then not all of them together: half of them at a time, in the same
    /// attempt.
    fn halve(&mut self, mail: &Transaction<'a>) {
        self.room.learn(mail.accepted / 2);
        let (settled, left) = outcome::without_text(mail);
        self.run.go_on(mail.index, settled, left);
    }

    /// What a refusal means for the mails after it.
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
            // Relays close after a number of mails: not this one's fault, and no attempt of it.
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

    /// The connection broke before the mail's text. Unless the relay spoke of this mail, or the connection was new,
    /// the mail was not tried.
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

    /// Has the connection served before this mail?
    fn is_worn(&self) -> bool {
        self.connection.rested || self.connection.carried > 1
    }

    fn untry(&mut self, next: Option<Transaction<'a>>) {
        if let Some(next) = next {
            self.run.put_back(next.index);
        }
    }
}

/// The relay did not accept the text. With 421 it closes, and may be going away.
fn refused_text(mail: &Transaction<'_>, refusal: &Refusal) -> Outcome {
    if refusal.code == 421 { outcome::closed(mail, refusal) } else { outcome::stopped(mail, refusal) }
}

/// A write that broke off.
struct Lost {
    fault: Fault,
    /// The final dot may have been received.
    taken: bool,
}
