use postrider_contract::Transition;
use postrider_seams::row::Detail;
use postrider_seams::{Outcome, Receipt, Value};

use super::{MIXED_LIMIT, REASON_LIMIT, compact, does_not_fit, mixed_reason, recipients};

#[test]
fn g7_reasons_are_one_line_without_control_characters() {
    assert_eq!(compact("  550 5.1.1\r\n no\tsuch\u{0} user \u{7}", REASON_LIMIT), "550 5.1.1 no such user");
    assert_eq!(compact("", REASON_LIMIT), "");
}

#[test]
fn g7_reasons_are_cut_at_a_character() {
    let long = compact(&"ä".repeat(2 * REASON_LIMIT), REASON_LIMIT);
    assert!(long.len() <= REASON_LIMIT + '…'.len_utf8(), "{} bytes", long.len());
    assert!(long.ends_with('…'));
    let words = compact(&"word ".repeat(REASON_LIMIT), REASON_LIMIT);
    assert!(words.len() <= REASON_LIMIT + '…'.len_utf8());
    assert!(words.starts_with("word word"));
}

#[test]
fn m09_a_row_that_ends_names_every_recipient_that_was_refused() {
    let refused = |address: &str, reply: &str| {
        format!(r#"{{"address":"{address}","result":"refused","reply":"{reply}"}}"#)
    };
    let of = |recipients: &[String]| {
        let text = format!("[{}]", recipients.join(","));
        let detail = Detail::from([("recipients".to_owned(), Value::Text(text))]);
        recipients::mixed(&detail).expect("somebody was refused")
    };
    let two = of(&[refused("a@x.org", "550 no such user"), refused("b@x.org", "552 mailbox full")]);
    let ended = mixed_reason(Transition::Skipped, Some("a@x.org: 550 no such user".to_owned()), &two);
    let all = "0 of 2 recipients have it; not a@x.org (550 no such user), b@x.org (552 mailbox full)";
    assert_eq!(ended.as_deref(), Some(all));
    let whole = Some("MAIL refused: 550 not you".to_owned());
    assert_eq!(mixed_reason(Transition::Rejected, whole.clone(), &two), whole, "it concerns all of them");
    let one = of(&[refused("a@x.org", "550 no such user")]);
    let reason = Some("a@x.org: 550 no such user".to_owned());
    assert_eq!(mixed_reason(Transition::Rejected, reason.clone(), &one), reason);
}

/// The outcome of a mail to `count` recipients of whom one accepted it and all others were refused.
fn refused(count: usize) -> Outcome {
    let one = |number: usize| {
        let reply = "550 5.1.1 no such user here, please check the address";
        format!(r#"{{"address":"user{number}@example.org","result":"refused","reply":"{reply}"}}"#)
    };
    let all: Vec<String> = std::iter::once(r#"{"address":"a@x.org","result":"accepted"}"#.to_owned())
        .chain((0..count).map(one))
        .collect();
    let detail = Detail::from([("recipients".to_owned(), Value::Text(format!("[{}]", all.join(","))))]);
    Outcome::Delivered(Receipt { id: None, detail })
}

#[test]
fn m09_sixty_refused_recipients_are_all_named() {
    let Outcome::Delivered(receipt) = refused(60) else { unreachable!() };
    let mixed = recipients::mixed(&receipt.detail).unwrap();
    let reason = mixed_reason(Transition::Delivered, None, &mixed)
        .map(|reason| compact(&reason, MIXED_LIMIT))
        .unwrap();
    for number in 0..60 {
        assert!(reason.contains(&format!("user{number}@example.org (550")), "{reason}");
    }
    assert!(!does_not_fit(&refused(60)));
    assert!(does_not_fit(&refused(1000)), "then a row without a memory is not called sent");
    assert_eq!(
        mixed_reason(Transition::Rejected, None, &mixed),
        Some(mixed.reason()),
        "nor does it end without a reason"
    );
}
