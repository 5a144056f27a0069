use super::*;

fn got(code: Code) -> Outcome {
    outcome(code, &Circumstances::default())
}

#[test]
fn what_is_wrong_with_the_record_is_for_good() {
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
fn g3_what_is_wrong_with_us_pauses_the_lane() {
    for code in [Code::Authentication, Code::SaslAuthenticationFailed, Code::ClusterAuthorizationFailed] {
        assert!(matches!(got(code), Outcome::Refused(_)), "{code:?}");
    }
    let denied = Circumstances {
        fatal: Some((Code::ClusterAuthorizationFailed, "no idempotent write".to_owned())),
        ..Circumstances::default()
    };
    assert!(matches!(outcome(Code::Fatal, &denied), Outcome::Refused(_)));
    let refused = Circumstances { refusal: Some("wrong password".to_owned()), ..Circumstances::default() };
    assert!(matches!(outcome(Code::PurgeQueue, &refused), Outcome::Refused(_)));
}

#[test]
fn a_timeout_is_uncertain_unless_nothing_can_have_been_sent() {
    assert!(matches!(got(Code::MessageTimedOut), Outcome::Uncertain(_)));
    let away = Circumstances {
        never_sent: true,
        trouble: Some("connection refused".to_owned()),
        ..Circumstances::default()
    };
    let Outcome::Retryable(failure) = outcome(Code::MessageTimedOut, &away) else { panic!("not retryable") };
    assert!(failure.unreachable && failure.reason.contains("connection refused"), "{failure:?}");
    let Outcome::Retryable(failure) = outcome(Code::PurgeQueue, &away) else { panic!("not retryable") };
    assert!(failure.unreachable);
}

#[test]
fn g1_what_waited_behind_a_lost_record_costs_nothing() {
    assert!(matches!(got(Code::PurgeQueue), Outcome::Deferred(_)));
    assert!(matches!(got(Code::PurgeInflight), Outcome::Uncertain(_)));
}

#[test]
fn the_rest_may_pass() {
    for code in [Code::LeaderNotAvailable, Code::NotEnoughReplicas, Code::KafkaStorageError] {
        let Outcome::Retryable(failure) = got(code) else { panic!("{code:?}") };
        assert!(!failure.unreachable);
    }
}

#[test]
fn g1_want_of_descriptors_costs_no_attempt() {
    let trouble = Some("Failed to create socket: Too many open files".to_owned());
    let about = Circumstances { never_sent: true, trouble, ..Circumstances::default() };
    assert!(matches!(outcome(Code::MessageTimedOut, &about), Outcome::Deferred(_)));
}
