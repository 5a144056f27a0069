use bytes::Bytes;

use super::*;
use crate::classify::Code;

fn mail() -> Mail {
    Mail {
        from: "box@example.org".to_owned(),
        to: vec!["a@x".to_owned(), "b@x".to_owned()],
        message: Bytes::new(),
        rest: None,
        message_id: "m-1@example.org".to_owned(),
        utf8: false,
        served: Vec::new(),
        metadata: Vec::new(),
    }
}

fn judgement(fate: Fate) -> Judgement {
    Judgement {
        fate,
        code: Code::ProviderError,
        words: "no".to_owned(),
        after: None,
        status: 500,
        unreachable: false,
    }
}

fn sent(address: &str, answer: Result<Taken, Judgement>) -> Sent {
    Sent { recipients: vec![address.to_owned()], answer }
}

fn results(outcome: &Outcome) -> String {
    let detail = match outcome {
        Outcome::Delivered(receipt) => &receipt.detail,
        other => &other.failure().unwrap().detail,
    };
    detail["recipients"].as_text().unwrap().to_owned()
}

#[test]
fn m09_any_recipient_taken_and_the_rest_refused_is_sent() {
    let requests = vec![sent("a@x", Ok(Taken::default())), sent("b@x", Err(judgement(Fate::Rejected)))];
    let outcome = outcome("p", &mail(), requests, Vec::new());
    let Outcome::Delivered(receipt) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(receipt.id.as_deref(), Some("m-1@example.org"));
    assert!(results(&outcome).contains(r#""b@x","result":"refused""#));
}

#[test]
fn m09_those_refused_for_now_alone_are_tried_again() {
    let requests = vec![sent("a@x", Ok(Taken::default())), sent("b@x", Err(judgement(Fate::Later)))];
    let outcome = outcome("p", &mail(), requests, vec!["c@x".to_owned()]);
    assert!(matches!(&outcome, Outcome::Retryable(failure) if failure.partly), "{outcome:?}");
    let results = results(&outcome);
    for told in
        [r#""a@x","result":"accepted""#, r#""b@x","result":"deferred""#, r#""c@x","result":"deferred""#]
    {
        assert!(results.contains(told), "{results}");
    }
}

#[test]
fn who_was_left_out_is_told() {
    let taken = |left: &[&str]| Taken {
        id: Some("p-1".to_owned()),
        left_out: left.iter().map(|&out| (out.to_owned(), "inactive".to_owned())).collect(),
    };
    let both = vec!["a@x".to_owned(), "b@x".to_owned()];
    let some = outcome(
        "p",
        &mail(),
        vec![Sent { recipients: both.clone(), answer: Ok(taken(&["b@x"])) }],
        Vec::new(),
    );
    assert!(matches!(&some, Outcome::Delivered(receipt) if receipt.id.as_deref() == Some("p-1")));
    assert!(results(&some).contains(r#""b@x","result":"refused","reply":"inactive""#));
    let none = outcome(
        "p",
        &mail(),
        vec![Sent { recipients: both, answer: Ok(taken(&["a@x", "b@x"])) }],
        Vec::new(),
    );
    assert!(matches!(&none, Outcome::Rejected(failure) if failure.reason == "inactive"), "{none:?}");
}

#[test]
fn g1_want_of_descriptors_is_free_only_while_nobody_has_the_mail() {
    let exhausted = || sent("b@x", Err(judgement(Fate::Exhausted)));
    let free = outcome("p", &mail(), vec![exhausted()], Vec::new());
    assert!(matches!(free, Outcome::Deferred(failure) if failure.after.is_some()));
    let after = outcome("p", &mail(), vec![sent("a@x", Ok(Taken::default())), exhausted()], Vec::new());
    assert!(matches!(after, Outcome::Retryable(failure) if failure.partly));
}

#[test]
fn g3_a_refusal_of_us_is_free_only_while_nobody_has_the_mail() {
    let refused = || sent("b@x", Err(judgement(Fate::Refused)));
    assert!(matches!(outcome("p", &mail(), vec![refused()], Vec::new()), Outcome::Refused(_)));
    let after = outcome("p", &mail(), vec![sent("a@x", Ok(Taken::default())), refused()], Vec::new());
    assert!(matches!(after, Outcome::Retryable(failure) if failure.partly && failure.accepted_now));
}

/// The success of an earlier attempt does not cause this attempt to be charged.
#[test]
fn g3_a_refusal_of_us_is_free_for_a_mail_that_some_have_from_an_earlier_attempt() {
    let served =
        Recipient { address: "a@x".to_owned(), result: RecipientResult::Accepted, reply: String::new() };
    let mail = Mail { to: vec!["b@x".to_owned()], served: vec![served], ..mail() };
    let answer = |fate| outcome("p", &mail, vec![sent("b@x", Err(judgement(fate)))], Vec::new());
    let refused = answer(Fate::Refused);
    assert!(matches!(&refused, Outcome::Refused(failure) if failure.partly && !failure.accepted_now));
    assert!(matches!(answer(Fate::Untried), Outcome::Deferred(_)));
    let later = answer(Fate::Later);
    assert!(matches!(&later, Outcome::Retryable(failure) if failure.partly && !failure.accepted_now));
    assert!(results(&later).contains(r#""a@x","result":"accepted""#));
}
