use bytes::Bytes;

use super::*;
use crate::classify::ErrorCode;

fn mail() -> Mail {
    Mail {
        from: "box@example.org".to_owned(),
        to: vec!["a@x".to_owned(), "b@x".to_owned()],
        message: Bytes::new(),
        rest: None,
        message_id: "m-1@example.org".to_owned(),
        utf8: false,
        settled: Vec::new(),
        metadata: Vec::new(),
    }
}

fn failure(kind: FailureKind) -> RequestFailure {
    RequestFailure {
        kind,
        code: ErrorCode::ProviderError,
        reason: "no".to_owned(),
        after: None,
        status: 500,
        unreachable: false,
    }
}

fn sent(address: &str, result: Result<AcceptedRequest, RequestFailure>) -> RequestResult {
    RequestResult { recipients: vec![address.to_owned()], result }
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
    let requests =
        vec![sent("a@x", Ok(AcceptedRequest::default())), sent("b@x", Err(failure(FailureKind::Rejected)))];
    let outcome = outcome("p", &mail(), requests, Vec::new());
    let Outcome::Delivered(receipt) = &outcome else { panic!("{outcome:?}") };
    assert_eq!(receipt.id.as_deref(), Some("m-1@example.org"));
    assert!(results(&outcome).contains(r#""b@x","result":"refused""#));
}

#[test]
fn m09_those_refused_for_now_alone_are_tried_again() {
    let requests =
        vec![sent("a@x", Ok(AcceptedRequest::default())), sent("b@x", Err(failure(FailureKind::Temporary)))];
    let outcome = outcome("p", &mail(), requests, vec!["c@x".to_owned()]);
    assert!(matches!(&outcome, Outcome::Retryable(failure) if failure.partly_accepted), "{outcome:?}");
    let results = results(&outcome);
    for expected in
        [r#""a@x","result":"accepted""#, r#""b@x","result":"deferred""#, r#""c@x","result":"deferred""#]
    {
        assert!(results.contains(expected), "{results}");
    }
}

#[test]
fn omitted_recipients_are_reported() {
    let taken = |left: &[&str]| AcceptedRequest {
        id: Some("p-1".to_owned()),
        omitted_recipients: left.iter().map(|&out| (out.to_owned(), "inactive".to_owned())).collect(),
    };
    let both = vec!["a@x".to_owned(), "b@x".to_owned()];
    let some = outcome(
        "p",
        &mail(),
        vec![RequestResult { recipients: both.clone(), result: Ok(taken(&["b@x"])) }],
        Vec::new(),
    );
    assert!(matches!(&some, Outcome::Delivered(receipt) if receipt.id.as_deref() == Some("p-1")));
    assert!(results(&some).contains(r#""b@x","result":"refused","reply":"inactive""#));
    let none = outcome(
        "p",
        &mail(),
        vec![RequestResult { recipients: both, result: Ok(taken(&["a@x", "b@x"])) }],
        Vec::new(),
    );
    assert!(matches!(&none, Outcome::Rejected(failure) if failure.reason == "inactive"), "{none:?}");
}

/// Each such call delivers the mail to more recipients, so they come to an end.
#[test]
fn g01_exhausted_descriptors_and_time_cost_nothing_for_a_partly_accepted_mail() {
    for kind in [FailureKind::Exhausted, FailureKind::NotSent] {
        let waits = kind == FailureKind::Exhausted;
        let unsent = || sent("b@x", Err(failure(kind)));
        let free = outcome("p", &mail(), vec![unsent()], Vec::new());
        assert!(
            matches!(&free, Outcome::Deferred(failure) if failure.after.is_some() == waits && !failure.accepted_now),
            "{free:?}"
        );
        let accepted = sent("a@x", Ok(AcceptedRequest::default()));
        let after = outcome("p", &mail(), vec![accepted, unsent()], Vec::new());
        assert!(matches!(&after, Outcome::Deferred(failure) if failure.accepted_now), "{after:?}");
        assert!(results(&after).contains(r#""b@x","result":"deferred""#));
    }
}

/// A mail to more recipients than a quota allows at a time must not use up its attempts.
#[test]
fn g01_a_rate_limit_costs_nothing_once_some_recipients_have_accepted_the_mail() {
    let limited = |after| {
        let failure = failure(FailureKind::Temporary);
        sent("b@x", Err(RequestFailure { code: ErrorCode::RateLimited, after, ..failure }))
    };
    let minute = Some(Duration::from_mins(1));
    let nobody = outcome("p", &mail(), vec![limited(minute)], Vec::new());
    assert!(matches!(nobody, Outcome::Retryable(_)), "{nobody:?}");
    for (after, expected) in [(minute, minute), (None, Some(RATE_LIMITED_WAIT))] {
        let accepted = sent("a@x", Ok(AcceptedRequest::default()));
        let some = outcome("p", &mail(), vec![accepted, limited(after)], Vec::new());
        assert!(
            matches!(&some, Outcome::Deferred(failure) if failure.accepted_now && failure.after == expected),
            "{some:?}"
        );
    }
}

#[test]
fn g03_a_refusal_of_us_costs_nothing_only_before_the_first_acceptance() {
    let refused = || sent("b@x", Err(failure(FailureKind::Refused)));
    assert!(matches!(outcome("p", &mail(), vec![refused()], Vec::new()), Outcome::Refused(_)));
    let after =
        outcome("p", &mail(), vec![sent("a@x", Ok(AcceptedRequest::default())), refused()], Vec::new());
    assert!(matches!(after, Outcome::Retryable(failure) if failure.partly_accepted && failure.accepted_now));
}

/// The success of an earlier attempt does not cause this attempt to be charged.
#[test]
fn g03_a_refusal_of_us_is_free_for_a_mail_that_some_have_from_an_earlier_attempt() {
    let served =
        Recipient { address: "a@x".to_owned(), result: RecipientResult::Accepted, reply: String::new() };
    let mail = Mail { to: vec!["b@x".to_owned()], settled: vec![served], ..mail() };
    let result = |kind| outcome("p", &mail, vec![sent("b@x", Err(failure(kind)))], Vec::new());
    let refused = result(FailureKind::Refused);
    assert!(
        matches!(&refused, Outcome::Refused(failure) if failure.partly_accepted && !failure.accepted_now)
    );
    assert!(matches!(result(FailureKind::NotSent), Outcome::Deferred(_)));
    let later = result(FailureKind::Temporary);
    assert!(
        matches!(&later, Outcome::Retryable(failure) if failure.partly_accepted && !failure.accepted_now)
    );
    assert!(results(&later).contains(r#""a@x","result":"accepted""#));
}
