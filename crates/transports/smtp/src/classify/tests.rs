use super::ReplyKind::{Accepted, Deferred, Refused, Rejected, SenderRefused, Unexpected};
use super::*;

fn read(text: Option<(u8, u16, u16)>) -> Option<EnhancedCode> {
    text.map(|(class, subject, detail)| EnhancedCode(class, subject, detail))
}

#[test]
fn each_reply_is_classified() {
    let cases = [
        (SmtpPhase::Greeting, 220, None, Accepted),
        (SmtpPhase::Greeting, 554, None, Refused),
        (SmtpPhase::Greeting, 521, None, Refused),
        (SmtpPhase::Greeting, 421, Some((4, 3, 2)), Deferred),
        (SmtpPhase::StartTls, 454, None, Deferred),
        (SmtpPhase::StartTls, 501, None, Refused),
        (SmtpPhase::Auth, 535, Some((5, 7, 8)), Refused),
        (SmtpPhase::Auth, 534, None, Refused),
        (SmtpPhase::Auth, 454, Some((4, 7, 0)), Deferred),
        (SmtpPhase::Mail, 250, None, Accepted),
        (SmtpPhase::Mail, 530, Some((5, 7, 0)), Refused),
        (SmtpPhase::Mail, 538, None, Refused),
        (SmtpPhase::Mail, 550, Some((5, 7, 1)), SenderRefused),
        (SmtpPhase::Mail, 554, None, SenderRefused),
        (SmtpPhase::Mail, 550, Some((5, 1, 8)), Rejected),
        (SmtpPhase::Mail, 552, Some((5, 3, 4)), Rejected),
        (SmtpPhase::Mail, 553, Some((5, 1, 7)), Rejected),
        (SmtpPhase::Mail, 451, None, Deferred),
        (SmtpPhase::Rcpt, 251, None, Accepted),
        (SmtpPhase::Rcpt, 550, Some((5, 1, 1)), Rejected),
        (SmtpPhase::Rcpt, 554, Some((5, 7, 1)), Rejected),
        (SmtpPhase::Rcpt, 530, None, Refused),
        (SmtpPhase::Rcpt, 552, Some((5, 5, 3)), Deferred),
        (SmtpPhase::Rcpt, 552, Some((5, 2, 2)), Rejected),
        (SmtpPhase::Rcpt, 450, Some((4, 7, 1)), Deferred),
        (SmtpPhase::Data, 354, None, Accepted),
        (SmtpPhase::Data, 250, None, Unexpected),
        (SmtpPhase::Data, 503, None, Deferred),
        (SmtpPhase::Data, 554, None, Rejected),
        (SmtpPhase::FinalDot, 250, None, Accepted),
        (SmtpPhase::FinalDot, 354, None, Unexpected),
        (SmtpPhase::FinalDot, 550, Some((5, 7, 1)), Rejected),
        (SmtpPhase::FinalDot, 552, None, Rejected),
        (SmtpPhase::FinalDot, 454, None, Deferred),
        (SmtpPhase::FinalDot, 150, None, Unexpected),
    ];
    for (phase, code, enhanced, kind) in cases {
        assert_eq!(classification(phase, code, read(enhanced)).kind, kind, "{phase:?} {code} {enhanced:?}");
    }
}

#[test]
fn only_an_overloaded_relay_throttles() {
    let cases = [
        (SmtpPhase::FinalDot, 454, None, true),
        (SmtpPhase::FinalDot, 451, Some((4, 7, 0)), true),
        (SmtpPhase::Mail, 452, Some((4, 3, 1)), true),
        (SmtpPhase::Mail, 452, None, true),
        (SmtpPhase::Rcpt, 451, Some((4, 3, 0)), true),
        (SmtpPhase::FinalDot, 451, Some((4, 4, 5)), true),
        (SmtpPhase::Rcpt, 450, Some((4, 7, 1)), false),
        (SmtpPhase::Rcpt, 452, Some((4, 2, 2)), false),
        (SmtpPhase::Rcpt, 452, Some((4, 5, 3)), false),
        (SmtpPhase::Rcpt, 452, None, false),
        (SmtpPhase::FinalDot, 451, None, false),
        (SmtpPhase::Rcpt, 550, Some((5, 7, 1)), false),
    ];
    for (phase, code, enhanced, slow) in cases {
        let judged = classification(phase, code, read(enhanced));
        assert_eq!(judged.slow, slow, "{phase:?} {code} {enhanced:?}");
    }
}
