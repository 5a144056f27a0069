use super::*;

fn got(kind: Kind) -> Option<Outcome> {
    outcome(&PublishError::new(kind))
}

#[test]
fn a_record_that_may_have_been_stored_is_uncertain() {
    assert!(matches!(got(Kind::TimedOut), Some(Outcome::Uncertain(_))));
    assert!(matches!(got(Kind::BrokenPipe), Some(Outcome::Uncertain(_))));
    assert!(matches!(got(Kind::Other), Some(Outcome::Uncertain(_))));
}

#[test]
fn a_record_over_a_limit_is_rejected() {
    assert!(matches!(got(Kind::MaxPayloadExceeded), Some(Outcome::Rejected(_))));
    let large = by_code(ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM, "message size exceeds maximum".to_owned());
    assert!(matches!(large, Outcome::Rejected(_)));
    let full = by_code(ErrorCode::STREAM_STORE_FAILED, "maximum bytes exceeded".to_owned());
    assert!(matches!(full, Outcome::Retryable(_)), "a full stream may have room later");
}

#[test]
fn a_missing_answer_has_three_reasons() {
    assert_eq!(got(Kind::StreamNotFound), None);
    let Outcome::Rejected(failure) = no_stream_answered("deals", Ok(None)) else { panic!("not rejected") };
    assert_eq!(failure.reason, "no stream has the subject deals");
    assert!(matches!(no_stream_answered("deals", Ok(Some("D".to_owned()))), Outcome::Retryable(_)));
    let Outcome::Retryable(failure) = no_stream_answered("deals", Err("no responders".to_owned())) else {
        panic!()
    };
    assert!(failure.unreachable);
}
