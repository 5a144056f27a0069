//! Classifies SMTP replies: who is at fault, temporary or permanent, and whether to slow down. Pure.
//!
//! The table, by reply code first and enhanced code (RFC 3463) second:
//!
//! | reply | where | meaning |
//! |---|---|---|
//! | 530 534 535 538, 5.7.8–5.7.11 | anywhere | the relay refuses us |
//! | 5xx | greeting, EHLO, STARTTLS, AUTH | the relay refuses us |
//! | 550 553 554 with 5.7.x, bare 554 | MAIL | suspect: us, unless it accepts another sender in the same call |
//! | 5xx | RCPT, DATA, final dot | the recipient, or the message: permanent |
//! | 452 4.5.3, 552 5.5.3, bare 452 or 552 after an accepted one | RCPT | too many recipients: the rest in further transactions (RFC 5321 4.5.3.1.10) |
//! | 452 4.5.3, 552 5.5.3 | first RCPT of a used connection | too many recipients in this session: the rest over a new connection |
//! | 452 4.5.3, 552 5.5.3 | DATA, final dot | too many recipients: half of them at a time, in the same try |
//! | 503 | anywhere | commands out of step: retried on a new connection |
//! | 454 4.3.x 4.4.5, 4.7.x but at RCPT | anywhere | retried, more slowly |
//! | 421 | anywhere | retried; on a connection that sent mails before, the mails after it go over a new one |
//! | 4xx | anywhere | retried |
//!
//! "554 5.7.1 Relay access denied" at RCPT is about the recipient: relays send it for one foreign address while they
//! accept others. 4.7.x at RCPT is greylisting more often than a limit: retried, but not more slowly.

use crate::reply::{EnhancedCode, Reply};

#[cfg(test)]
mod tests;

/// The command that was sent last, or the reply that is expected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SmtpPhase {
    Greeting,
    Ehlo,
    StartTls,
    Auth,
    Reset,
    Mail,
    Rcpt,
    Data,
    FinalDot,
    Quit,
}

impl SmtpPhase {
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
            Self::FinalDot => "the message",
            Self::Quit => "QUIT",
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReplyKind {
    Accepted,
    /// Temporary.
    Deferred,
    /// Permanent, and the recipient or the message is the cause.
    Rejected,
    /// The relay refuses this sender, or us: the results of other mails decide which.
    SenderRefused,
    /// The relay refuses us.
    Refused,
    /// Not a reply to the command that was sent.
    Unexpected,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Classification {
    pub kind: ReplyKind,
    /// Whether the relay is overloaded: send less for a while.
    pub slow: bool,
}

/// A negative reply, kept for the record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NegativeReply {
    pub phase: SmtpPhase,
    pub classification: Classification,
    pub code: u16,
    pub enhanced: Option<EnhancedCode>,
    pub text: String,
}

impl NegativeReply {
    pub(crate) fn kind(&self) -> ReplyKind {
        self.classification.kind
    }

    /// Whether the relay accepts no more recipients in this transaction, after it accepted some. A bare 552 counts as
    /// well (RFC 5321 4.5.3.1.10); if it is about a full mailbox, it comes again as the first reply of the next
    /// transaction.
    pub(crate) fn is_recipient_limit(&self) -> bool {
        matches!((self.code, self.enhanced), (452 | 552, None)) || self.says_too_many_recipients()
    }

    /// Whether the reply explicitly says that there are too many recipients. A bare 452 after DATA is about disk
    /// space.
    pub(crate) fn says_too_many_recipients(&self) -> bool {
        matches!(self.enhanced, Some(EnhancedCode(4 | 5, 5, 3)))
    }

    /// Whether the recipient or the message is refused permanently.
    pub(crate) fn is_permanent(&self) -> bool {
        self.classification.kind == ReplyKind::Rejected
    }
}

/// Returns `Ok` for a positive reply. Allocates only for refusals.
pub(crate) fn classify_reply(phase: SmtpPhase, reply: &Reply<'_>) -> Result<(), NegativeReply> {
    let classification = classification(phase, reply.code, reply.enhanced);
    if classification.kind == ReplyKind::Accepted {
        return Ok(());
    }
    let (code, enhanced, text) = (reply.code, reply.enhanced, reply.text());
    Err(NegativeReply { phase, classification, code, enhanced, text })
}

pub(crate) fn classification(phase: SmtpPhase, code: u16, enhanced: Option<EnhancedCode>) -> Classification {
    let plain = |kind| Classification { kind, slow: false };
    match code / 100 {
        2 if phase != SmtpPhase::Data => plain(ReplyKind::Accepted),
        3 if phase == SmtpPhase::Data && code == 354 => plain(ReplyKind::Accepted),
        4 => deferred(phase, code, enhanced),
        5 => plain(permanent(phase, code, enhanced)),
        _ => plain(ReplyKind::Unexpected),
    }
}

fn deferred(phase: SmtpPhase, code: u16, enhanced: Option<EnhancedCode>) -> Classification {
    let policy = matches!(enhanced, Some(EnhancedCode(_, 7, _)));
    let short = matches!(enhanced, Some(EnhancedCode(_, 3, _) | EnhancedCode(_, 4, 5)))
        || (code == 452 && enhanced.is_none() && phase != SmtpPhase::Rcpt);
    let slow = code == 454 || short || (policy && phase != SmtpPhase::Rcpt);
    Classification { kind: ReplyKind::Deferred, slow }
}

fn permanent(phase: SmtpPhase, code: u16, enhanced: Option<EnhancedCode>) -> ReplyKind {
    let us = matches!(code, 530 | 534 | 535 | 538) || matches!(enhanced, Some(EnhancedCode(_, 7, 8..=11)));
    match (phase, code, enhanced) {
        (SmtpPhase::Greeting | SmtpPhase::Ehlo | SmtpPhase::StartTls | SmtpPhase::Auth, ..) => {
            ReplyKind::Refused
        }
        _ if us => ReplyKind::Refused,
        (_, 503, _) | (SmtpPhase::Rcpt, 552, Some(EnhancedCode(_, 5, 3))) => ReplyKind::Deferred,
        (SmtpPhase::Mail, 550 | 553 | 554, Some(EnhancedCode(_, 7, _))) | (SmtpPhase::Mail, 554, None) => {
            ReplyKind::SenderRefused
        }
        _ => ReplyKind::Rejected,
    }
}
