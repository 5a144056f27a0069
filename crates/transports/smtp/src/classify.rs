//! Classifies SMTP replies: who is at fault, temporary or permanent, and whether to slow down. Pure.
//!
//! The table, by reply code first and enhanced code (RFC 3463) second:
//!
//! | reply | where | meaning |
//! |---|---|---|
//! | 530 534 535 538, 5.7.8–5.7.11 | anywhere | the relay refuses us |
//! | 5xx | greeting, EHLO, STARTTLS, AUTH | the relay refuses us |
//! | 550 553 554 with 5.7.x, bare 554 | MAIL | suspect: us, unless it accepts another sender in the same call |
//! | 5xx | RCPT, DATA, final dot | the recipient, or the message, for good |
//! | 452 4.5.3, 552 5.5.3, bare 452 after an accepted one | RCPT | too many recipients: the rest in further transactions (RFC 5321 4.5.3.1.10) |
//! | 452 4.5.3, 552 5.5.3 | DATA, final dot | too many recipients: half of them at a time, in the same try |
//! | 503 | anywhere | the dialogue is muddled: later, on a new connection |
//! | 454 4.3.x 4.4.5, 4.7.x but at RCPT | anywhere | later, and slower |
//! | 421 | anywhere | later; on a connection that served before, the mails after it go over a new one |
//! | 4xx | anywhere | later |
//!
//! "554 5.7.1 Relay access denied" at RCPT is about the recipient: relays send it for one foreign address while they
//! accept others. 4.7.x at RCPT is greylisting more often than a limit: later, but not slower.

use crate::reply::{Enhanced, Reply};

#[cfg(test)]
mod tests;

/// The command that was sent last, or the reply that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    Reset,
    Mail,
    Rcpt,
    Data,
    End,
    Quit,
}

impl Stage {
    /// Returns the name of the stage for messages.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Greeting => "the connection",
            Self::Ehlo => "EHLO",
            Self::StartTls => "STARTTLS",
            Self::Auth => "AUTH",
            Self::Reset => "RSET",
            Self::Mail => "MAIL FROM",
            Self::Rcpt => "RCPT TO",
            Self::Data => "DATA",
            Self::End => "the message",
            Self::Quit => "QUIT",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Accepted,
    /// Temporary.
    Deferred,
    /// Permanent, and the recipient or the message is the cause.
    Rejected,
    /// The relay refuses this sender, or us: the results of other mails decide which.
    Suspect,
    /// The relay refuses us.
    Refused,
    /// Not a reply to the command that was sent.
    OutOfStep,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Judgement {
    pub kind: Kind,
    /// Whether the relay is overloaded: send less for a while.
    pub slow: bool,
}

/// A negative reply, kept for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub stage: Stage,
    pub judgement: Judgement,
    pub code: u16,
    pub enhanced: Option<Enhanced>,
    pub words: String,
}

impl Refusal {
    pub(crate) fn kind(&self) -> Kind {
        self.judgement.kind
    }

    /// Whether the relay accepts no more recipients in this transaction, after it accepted some.
    pub(crate) fn is_full(&self) -> bool {
        matches!((self.code, self.enhanced), (452, None)) || self.is_about_too_many()
    }

    /// Whether the reply explicitly says that there are too many recipients. A bare 452 after DATA is about disk
    /// space.
    pub(crate) fn is_about_too_many(&self) -> bool {
        matches!(self.enhanced, Some(Enhanced(4 | 5, 5, 3)))
    }

    /// Whether the recipient or the message is refused permanently.
    pub(crate) fn is_lasting(&self) -> bool {
        self.judgement.kind == Kind::Rejected
    }
}

/// Returns `Ok` for a positive reply. Allocates only for refusals.
pub(crate) fn judge(stage: Stage, reply: &Reply<'_>) -> Result<(), Refusal> {
    let judgement = judgement(stage, reply.code, reply.enhanced);
    if judgement.kind == Kind::Accepted {
        return Ok(());
    }
    let (code, enhanced, words) = (reply.code, reply.enhanced, reply.words());
    Err(Refusal { stage, judgement, code, enhanced, words })
}

pub(crate) fn judgement(stage: Stage, code: u16, enhanced: Option<Enhanced>) -> Judgement {
    let plain = |kind| Judgement { kind, slow: false };
    match code / 100 {
        2 if stage != Stage::Data => plain(Kind::Accepted),
        3 if stage == Stage::Data && code == 354 => plain(Kind::Accepted),
        4 => deferred(stage, code, enhanced),
        5 => plain(lasting(stage, code, enhanced)),
        _ => plain(Kind::OutOfStep),
    }
}

fn deferred(stage: Stage, code: u16, enhanced: Option<Enhanced>) -> Judgement {
    let policy = matches!(enhanced, Some(Enhanced(_, 7, _)));
    let short = matches!(enhanced, Some(Enhanced(_, 3, _) | Enhanced(_, 4, 5)))
        || (code == 452 && enhanced.is_none() && stage != Stage::Rcpt);
    let slow = code == 454 || short || (policy && stage != Stage::Rcpt);
    Judgement { kind: Kind::Deferred, slow }
}

fn lasting(stage: Stage, code: u16, enhanced: Option<Enhanced>) -> Kind {
    let us = matches!(code, 530 | 534 | 535 | 538) || matches!(enhanced, Some(Enhanced(_, 7, 8..=11)));
    match (stage, code, enhanced) {
        (Stage::Greeting | Stage::Ehlo | Stage::StartTls | Stage::Auth, ..) => Kind::Refused,
        _ if us => Kind::Refused,
        (_, 503, _) | (Stage::Rcpt, 552, Some(Enhanced(_, 5, 3))) => Kind::Deferred,
        (Stage::Mail, 550 | 553 | 554, Some(Enhanced(_, 7, _))) | (Stage::Mail, 554, None) => Kind::Suspect,
        _ => Kind::Rejected,
    }
}
