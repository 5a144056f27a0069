use super::*;

/// The example of the standard's documentation and libraries.
#[test]
fn j10_the_standards_own_example_is_met() {
    let key = key(&Secret::new("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")).unwrap();
    let signature =
        signatures(&[key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, br#"{"test": 2432232314}"#);
    assert_eq!(signature, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
}

#[test]
fn j10_a_secret_is_read_as_the_libraries_read_it() {
    let signed = |secret: &str| signatures(&[key(&Secret::new(secret)).unwrap()], "i", 1, b"b");
    let prefixed = signed("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
    assert_eq!(signed("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"), prefixed, "the prefix may be left out");
    assert_eq!(signed("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw\n"), prefixed, "line ends are no part of it");
    assert_eq!(signed("whsec_aGVsbG8"), signed("whsec_aGVsbG8="), "padding may be left out");
    assert_eq!(signed("hello"), signed("whsec_aGVsbG8="), "what is no base64 is the key itself");
    for wrong in ["", "whsec_", "whsec_not base64!"] {
        assert!(key(&Secret::new(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn j10_two_keys_make_two_signatures() {
    let keys = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "whsec_aGVsbG8="]
        .map(|text| key(&Secret::new(text)).unwrap());
    let both = signatures(&keys, "i", 1, b"b");
    let (new, old) = both.split_once(' ').unwrap();
    assert_eq!([new, old], [signatures(&keys[..1], "i", 1, b"b"), signatures(&keys[1..], "i", 1, b"b")]);
}
