use super::*;

fn protocol(kind: impl Into<AMQPErrorKind>, text: &str) -> Error {
    ErrorKind::ProtocolError(AMQPError::new(kind.into(), text.into())).into()
}

#[test]
fn g3_a_wrong_password_or_vhost_is_for_an_operator() {
    for error in [
        protocol(AMQPSoftError::ACCESSREFUSED, "ACCESS_REFUSED - Login was refused"),
        protocol(AMQPHardError::NOTALLOWED, "NOT_ALLOWED - vhost x not found"),
    ] {
        assert!(matches!(connection(&error, "h"), Fault::Refused(_)), "{error}");
    }
    let forced = protocol(AMQPHardError::CONNECTIONFORCED, "CONNECTION_FORCED - shutdown");
    assert!(matches!(connection(&forced, "h"), Fault::Unreachable(_)));
}

#[test]
fn a_complaint_is_about_one_exchange_or_one_size() {
    let error = protocol(AMQPSoftError::NOTFOUND, "NOT_FOUND - no exchange 'nope' in vhost '/'");
    let complaint = complaint(&error).unwrap();
    let route = |exchange: &str| Route { exchange: exchange.to_owned(), key: "k".to_owned() };
    assert!(is_about(complaint, &route("nope"), 5));
    assert!(!is_about(complaint, &route("no"), 5));
    let error = protocol(
        AMQPSoftError::PRECONDITIONFAILED,
        "message size 900 is larger than configured max size 800",
    );
    assert!(is_about(super::complaint(&error).unwrap(), &route("any"), 900));
    assert!(!is_about(super::complaint(&error).unwrap(), &route("any"), 90));
}

#[test]
fn g1_want_of_descriptors_costs_no_attempt() {
    let error = |code| Error::from(ErrorKind::IOError(std::io::Error::from_raw_os_error(code).into()));
    let fault = connection(&error(24), "h");
    assert!(matches!(fault, Fault::Exhausted(_)), "{fault:?}");
    assert!(matches!(Outcome::from(fault), Outcome::Deferred(_)));
    assert!(matches!(connection(&error(111), "h"), Fault::Unreachable(_)));
}
