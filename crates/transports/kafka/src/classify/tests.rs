use super::*;

fn got(code: Code) -> Outcome {
    outcome(code, &FailureContext::default())
}

#[test]
fn errors_of_the_record_are_permanent() {
    for code in [
        Code::UnknownTopicOrPartition,
        Code::UnknownTopic,
        Code::TopicAuthorizationFailed,
        Code::MessageSizeTooLarge,
        Code::InvalidTopic,
    ] {
        let Outcome::Rejected(failure) = got(code) else { panic!("{code:?}") };
        assert!(!failure.reason.is_empty());
    }
}

#[test]
fn g03_errors_of_our_account_pause_the_lane() {
    for code in [Code::Authentication, Code::SaslAuthenticationFailed, Code::ClusterAuthorizationFailed] {
        assert!(matches!(got(code), Outcome::Refused(_)), "{code:?}");
    }
    let denied = FailureContext {
        fatal: Some((Code::ClusterAuthorizationFailed, "no idempotent write".to_owned())),
        ..FailureContext::default()
    };
    assert!(matches!(outcome(Code::Fatal, &denied), Outcome::Refused(_)));
    let refused = FailureContext { refusal: Some("wrong password".to_owned()), ..FailureContext::default() };
    assert!(matches!(outcome(Code::PurgeQueue, &refused), Outcome::Refused(_)));
}

#[test]
fn a_timeout_is_uncertain_unless_nothing_can_have_been_sent() {
    assert!(matches!(got(Code::MessageTimedOut), Outcome::Uncertain(_)));
    let away = FailureContext {
        never_sent: true,
        last_error: Some("connection refused".to_owned()),
        ..FailureContext::default()
    };
    let Outcome::Retryable(failure) = outcome(Code::MessageTimedOut, &away) else { panic!("not retryable") };
    assert!(failure.unreachable && failure.reason.contains("connection refused"), "{failure:?}");
    let Outcome::Retryable(failure) = outcome(Code::PurgeQueue, &away) else { panic!("not retryable") };
    assert!(failure.unreachable);
}

#[test]
fn g01_records_behind_a_lost_one_cost_nothing() {
    assert!(matches!(got(Code::PurgeQueue), Outcome::Deferred(_)));
    assert!(matches!(got(Code::PurgeInflight), Outcome::Uncertain(_)));
}

#[test]
fn other_errors_are_retryable() {
    for code in [Code::LeaderNotAvailable, Code::NotEnoughReplicas, Code::KafkaStorageError] {
        let Outcome::Retryable(failure) = got(code) else { panic!("{code:?}") };
        assert!(!failure.unreachable);
    }
}

#[test]
fn g01_exhausted_descriptors_cost_no_attempt() {
    let last_error = Some("Failed to create socket: Too many open files".to_owned());
    let context = FailureContext { never_sent: true, last_error, ..FailureContext::default() };
    assert!(matches!(outcome(Code::MessageTimedOut, &context), Outcome::Deferred(_)));
}
