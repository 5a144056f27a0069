use super::Kind::{Accepted, Deferred, OutOfStep, Refused, Rejected, Suspect};
use super::*;

fn read(text: Option<(u8, u16, u16)>) -> Option<Enhanced> {
    text.map(|(class, subject, detail)| Enhanced(class, subject, detail))
}

#[test]
fn each_reply_blames_the_right_one() {
    let cases = [
        (Stage::Greeting, 220, None, Accepted),
        (Stage::Greeting, 554, None, Refused),
        (Stage::Greeting, 521, None, Refused),
        (Stage::Greeting, 421, Some((4, 3, 2)), Deferred),
        (Stage::StartTls, 454, None, Deferred),
        (Stage::StartTls, 501, None, Refused),
        (Stage::Auth, 535, Some((5, 7, 8)), Refused),
        (Stage::Auth, 534, None, Refused),
        (Stage::Auth, 454, Some((4, 7, 0)), Deferred),
        (Stage::Mail, 250, None, Accepted),
        (Stage::Mail, 530, Some((5, 7, 0)), Refused),
        (Stage::Mail, 538, None, Refused),
        (Stage::Mail, 550, Some((5, 7, 1)), Suspect),
        (Stage::Mail, 554, None, Suspect),
        (Stage::Mail, 550, Some((5, 1, 8)), Rejected),
        (Stage::Mail, 552, Some((5, 3, 4)), Rejected),
        (Stage::Mail, 553, Some((5, 1, 7)), Rejected),
        (Stage::Mail, 451, None, Deferred),
        (Stage::Rcpt, 251, None, Accepted),
        (Stage::Rcpt, 550, Some((5, 1, 1)), Rejected),
        (Stage::Rcpt, 554, Some((5, 7, 1)), Rejected),
        (Stage::Rcpt, 530, None, Refused),
        (Stage::Rcpt, 552, Some((5, 5, 3)), Deferred),
        (Stage::Rcpt, 552, Some((5, 2, 2)), Rejected),
        (Stage::Rcpt, 450, Some((4, 7, 1)), Deferred),
        (Stage::Data, 354, None, Accepted),
        (Stage::Data, 250, None, OutOfStep),
        (Stage::Data, 503, None, Deferred),
        (Stage::Data, 554, None, Rejected),
        (Stage::End, 250, None, Accepted),
        (Stage::End, 354, None, OutOfStep),
        (Stage::End, 550, Some((5, 7, 1)), Rejected),
        (Stage::End, 552, None, Rejected),
        (Stage::End, 454, None, Deferred),
        (Stage::End, 150, None, OutOfStep),
    ];
    for (stage, code, enhanced, kind) in cases {
        assert_eq!(judgement(stage, code, read(enhanced)).kind, kind, "{stage:?} {code} {enhanced:?}");
    }
}

#[test]
fn only_a_relay_in_trouble_slows_us_down() {
    let cases = [
        (Stage::End, 454, None, true),
        (Stage::End, 451, Some((4, 7, 0)), true),
        (Stage::Mail, 452, Some((4, 3, 1)), true),
        (Stage::Mail, 452, None, true),
        (Stage::Rcpt, 451, Some((4, 3, 0)), true),
        (Stage::End, 451, Some((4, 4, 5)), true),
        (Stage::Rcpt, 450, Some((4, 7, 1)), false),
        (Stage::Rcpt, 452, Some((4, 2, 2)), false),
        (Stage::Rcpt, 452, Some((4, 5, 3)), false),
        (Stage::Rcpt, 452, None, false),
        (Stage::End, 451, None, false),
        (Stage::Rcpt, 550, Some((5, 7, 1)), false),
    ];
    for (stage, code, enhanced, slow) in cases {
        let judged = judgement(stage, code, read(enhanced));
        assert_eq!(judged.slow, slow, "{stage:?} {code} {enhanced:?}");
    }
}
