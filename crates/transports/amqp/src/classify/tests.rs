use super::*;

fn protocol(kind: impl Into<AMQPErrorKind>, text: &str) -> Error {
    ErrorKind::ProtocolError(AMQPError::new(kind.into(), text.into())).into()
}

#[test]
fn g03_a_wrong_password_or_vhost_needs_an_operator() {
    for error in [
        protocol(AMQPSoftError::ACCESSREFUSED, "ACCESS_REFUSED - Login was refused"),
        protocol(AMQPHardError::NOTALLOWED, "NOT_ALLOWED - vhost x not found"),
    ] {
        assert!(matches!(connect_error(&error, "h"), ConnectError::Refused(_)), "{error}");
    }
    let forced = protocol(AMQPHardError::CONNECTIONFORCED, "CONNECTION_FORCED - shutdown");
    assert!(matches!(connect_error(&forced, "h"), ConnectError::Unreachable(_)));
}

#[test]
fn a_channel_error_concerns_one_exchange_or_one_size() {
    let error = protocol(AMQPSoftError::NOTFOUND, "NOT_FOUND - no exchange 'nope' in vhost '/'");
    let channel_error = channel_error(&error).unwrap();
    let route = |exchange: &str| Route { exchange: exchange.to_owned(), key: "k".to_owned() };
    assert!(concerns(channel_error, &route("nope"), 5));
    assert!(!concerns(channel_error, &route("no"), 5));
    let error = protocol(
        AMQPSoftError::PRECONDITIONFAILED,
        "message size 900 is larger than configured max size 800",
    );
    assert!(concerns(super::channel_error(&error).unwrap(), &route("any"), 900));
    assert!(!concerns(super::channel_error(&error).unwrap(), &route("any"), 90));
}

#[test]
fn g01_exhausted_descriptors_cost_no_attempt() {
    let os_error = |code| Error::from(ErrorKind::IOError(std::io::Error::from_raw_os_error(code).into()));
    let error = connect_error(&os_error(24), "h");
    assert!(matches!(error, ConnectError::Exhausted(_)), "{error:?}");
    assert!(matches!(Outcome::from(error), Outcome::Deferred(_)));
    assert!(matches!(connect_error(&os_error(111), "h"), ConnectError::Unreachable(_)));
}
