use postrider_contract::{Contract, Counters, RESULTS, Transition};
use postrider_seams::row::Detail;
use postrider_seams::{
    ClaimedRow, Content, Envelope, Fields, Lease, Mail, Outcome, Receipt, RowId, Value, envelope,
};

use super::{MIXED_LIMIT, REASON_LIMIT, compact, does_not_fit, mixed_reason, recipients};

#[test]
fn g07_reasons_are_one_line_without_control_characters() {
    assert_eq!(compact("  550 5.1.1\r\n no\tsuch\u{0} user \u{7}", REASON_LIMIT), "550 5.1.1 no such user");
    assert_eq!(compact("", REASON_LIMIT), "");
}

#[test]
fn g07_reasons_are_cut_at_a_character() {
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
    let all = "accepted by 0 of 2 recipients; not by a@x.org (550 no such user), b@x.org (552 mailbox full)";
    assert_eq!(ended.as_deref(), Some(all));
    let both = of(&[refused("a@x.org", "550 not you"), refused("b@x.org", "550 not you")]);
    let whole = Some("MAIL refused: 550 not you".to_owned());
    assert_eq!(mixed_reason(Transition::Rejected, whole.clone(), &both), whole, "it concerns all of them");
    let one = of(&[refused("a@x.org", "550 no such user")]);
    let reason = Some("a@x.org: 550 no such user".to_owned());
    assert_eq!(mixed_reason(Transition::Rejected, reason.clone(), &one), reason);
}

#[test]
fn m09_the_reason_of_the_last_try_hides_no_earlier_refusal() {
    let list = |recipients: &str| {
        let detail = Detail::from([("recipients".to_owned(), Value::Text(format!("[{recipients}]")))]);
        recipients::mixed(&detail).expect("somebody lacks it")
    };
    let reason =
        |mixed: &_, reason: &str| mixed_reason(Transition::Dead, Some(reason.to_owned()), mixed).unwrap();
    let waiting = list(
        r#"{"address":"a@x.org","result":"refused","reply":"550 no such user"},
           {"address":"b@x.org","result":"deferred","reply":"connection refused"}"#,
    );
    assert_eq!(
        reason(&waiting, "connection refused"),
        "connection refused; accepted by 0 of 2 recipients; not by a@x.org (550 no such user), b@x.org (connection refused)"
    );
    let suppressed = |address: &str| {
        let reply = format!("suppressed: {address} is on the list (550)");
        format!(r#"{{"address":"{address}","result":"refused","reply":"{reply}"}}"#)
    };
    let both = list(&[suppressed("a@x.org"), suppressed("b@x.org")].join(","));
    assert_eq!(
        reason(&both, "suppressed: b@x.org is on the list (550)"),
        "accepted by 0 of 2 recipients; not by a@x.org (suppressed: a@x.org is on the list (550)), b@x.org (suppressed: \
         b@x.org is on the list (550))"
    );
    let one = list(&suppressed("a@x.org"));
    assert_eq!(
        reason(&one, "suppressed: a@x.org is on the list (550)"),
        "suppressed: a@x.org is on the list (550)"
    );
}

fn tried(attempts: u32, results: &str) -> ClaimedRow {
    let names: std::sync::Arc<[String]> = [RESULTS.to_owned()].into();
    ClaimedRow {
        lease: Lease { id: RowId::Int(1), fence: Box::default() },
        counters: Counters { attempts, max_attempts: None, schedule: None },
        crashes: 0,
        since_crash: 0,
        from: None,
        group: None,
        pool: None,
        share: None,
        waited_micros: 0,
        size: 0,
        fields: Some(Fields::new(names, vec![Value::Text(results.to_owned())])),
    }
}

/// A row that cannot be composed any more ends with an outcome that lists no recipients.
#[test]
fn m09_a_row_that_is_rejected_after_a_part_was_sent_says_who_has_it() {
    let contract = Contract::parse("m.toml", Contract::builtin("mail_outbox").unwrap()).unwrap();
    let stage = &contract.stages[0];
    let list = r#"[{"address":"a@x.org","result":"accepted"},{"address":"b@x.org","result":"deferred","reply":"450"}]"#;
    let stored = format!(r#"{{"recipients":{list}}}"#);
    for results in [list, &stored] {
        let mixed = recipients::earlier(stage, &tried(1, results), None).expect("b@x.org lacks it");
        assert_eq!(
            mixed_reason(Transition::Rejected, Some("no such template".to_owned()), &mixed).unwrap(),
            "no such template; accepted by 1 of 2 recipients; not by b@x.org (450)"
        );
    }
    assert!(recipients::earlier(stage, &tried(0, &stored), None).is_none(), "they are of a deleted row");
    assert!(recipients::earlier(stage, &tried(1, "no JSON"), None).is_none());
}

/// The transport gave no usable answer: the envelope says who was left to try.
#[test]
fn m09_a_row_whose_last_call_failed_names_those_that_were_refused_before() {
    let contract = Contract::parse("m.toml", Contract::builtin("mail_outbox").unwrap()).unwrap();
    let refused = envelope::Recipient {
        address: "a@x.org".to_owned(),
        result: envelope::RecipientResult::Refused,
        reply: "550 no such user".to_owned(),
    };
    let mail = Mail {
        from: "shop@x.org".to_owned(),
        to: vec!["b@x.org".to_owned()],
        message: "".into(),
        rest: None,
        message_id: "1@x.org".to_owned(),
        utf8: false,
        settled: vec![refused],
        metadata: Vec::new(),
    };
    let envelope = Envelope {
        row: "1".to_owned(),
        dedupe: "1".to_owned(),
        attempt: 2,
        lease: postrider_seams::LeaseCheck::default(),
        content: Content::Mail(mail),
        detail: Detail::new(),
    };
    let mixed =
        recipients::earlier(&contract.stages[0], &tried(1, ""), Some(&envelope)).expect("nobody has it");
    assert_eq!(
        mixed_reason(Transition::Dead, Some("no answer in time".to_owned()), &mixed).unwrap(),
        "no answer in time; accepted by 0 of 2 recipients; not by a@x.org (550 no such user), b@x.org"
    );
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
    assert!(!does_not_fit(&refused(60), None));
    assert!(does_not_fit(&refused(1000), None), "then a row without a memory is not called sent");
    assert!(does_not_fit(&refused(60), Some(255)), "a short column would cut the list");
    assert!(!does_not_fit(&refused(1), Some(255)));
    assert_eq!(
        mixed_reason(Transition::Rejected, None, &mixed),
        Some(mixed.reason()),
        "nor does it end without a reason"
    );
}
