use aws_sdk_sqs::error::ConnectorError;

use super::*;

#[test]
fn an_entry_error_is_the_senders_or_sqss() {
    assert!(matches!(entry(true, "InvalidMessageContents", "bad"), Outcome::Rejected(_)));
    assert!(matches!(entry(true, "SomethingNew", "bad"), Outcome::Rejected(_)));
    assert!(matches!(entry(false, "InternalError", "sorry"), Outcome::Retryable(_)));
    assert!(matches!(entry(true, "Throttling", "slow down"), Outcome::Retryable(_)));
}

#[test]
fn codes_are_known_with_and_without_their_namespace() {
    for code in [
        "QueueDoesNotExist",
        "AWS.SimpleQueueService.NonExistentQueue",
        "com.amazonaws.sqs#QueueDoesNotExist",
    ] {
        assert!(matches!(by_code(code, String::new()), Ok(Outcome::Rejected(_))), "{code}");
    }
    assert!(matches!(by_code("InvalidClientTokenId", String::new()), Ok(Outcome::Refused(_))));
    assert_eq!(by_code("New", "words".to_owned()), Err("words".to_owned()));
}

#[test]
fn g01_exhausted_descriptors_cost_no_attempt() {
    use aws_sdk_sqs::operation::send_message::SendMessageError;
    let failed = |code| {
        let error = ConnectorError::io(std::io::Error::from_raw_os_error(code).into());
        request(&SdkError::<SendMessageError, ()>::dispatch_failure(error))
    };
    assert!(matches!(failed(24), Outcome::Deferred(_)), "{:?}", failed(24));
    assert!(!matches!(failed(111), Outcome::Deferred(_)), "{:?}", failed(111));
}
