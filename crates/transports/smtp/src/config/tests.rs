use super::*;

fn mistakes(url: &str) -> Vec<String> {
    let error = Settings::from_url(url).expect_err("the URL has mistakes");
    error.mistakes.iter().map(ToString::to_string).collect()
}

#[test]
fn smtps_is_tls_from_the_first_byte_on_port_465() {
    let settings = Settings::from_url("smtps://mail.example").unwrap();
    assert_eq!((settings.tls, settings.port, settings.host.as_str()), (Tls::Implicit, 465, "mail.example"));
}

#[test]
fn smtp_requires_starttls_but_on_this_machine_without_a_password() {
    let tls = |url| Settings::from_url(url).map(|settings| (settings.tls, settings.port)).unwrap();
    assert_eq!(tls("smtp://mail.example"), (Tls::Required, 587));
    assert_eq!(tls("smtp://u:p@127.0.0.1"), (Tls::Required, 587));
    assert_eq!(tls("smtp://127.0.0.1:2525"), (Tls::None, 2525));
    assert_eq!(tls("smtp://[::1]"), (Tls::None, 25));
    assert_eq!(tls("smtp://mail.example?tls=none"), (Tls::None, 25));
    assert_eq!(tls("smtp://localhost?tls=starttls"), (Tls::Required, 587));
}

#[test]
fn credentials_are_decoded_and_never_shown() {
    let settings = Settings::from_url("smtps://tim%40x.test:s%3Acret%2F@mail.example?auth=login").unwrap();
    let credentials = settings.credentials.as_ref().unwrap();
    assert_eq!(credentials.user, "tim@x.test");
    assert_eq!(credentials.secret.reveal(), "s:cret/");
    assert_eq!(credentials.mechanism, Mechanism::Login);
    assert!(!format!("{settings:?}").contains("cret/"), "{settings:?}");
    assert!(!settings.target().contains("tim"));
}

#[test]
fn credentials_in_plain_text_need_this_machine_and_a_word() {
    assert_eq!(mistakes("smtp://u:p@mail.example?tls=none").len(), 1);
    assert_eq!(mistakes("smtp://u:p@mail.example?tls=none&allow_plaintext_auth=true").len(), 1);
    assert_eq!(mistakes("smtp://u:p@127.0.0.1?tls=none").len(), 1);
    Settings::from_url("smtp://u:p@127.0.0.1?tls=none&allow_plaintext_auth=true").unwrap();
}

#[test]
fn every_option_is_read() {
    let url = "smtp://h.example:26?helo=me.test&connections=3&per_connection=7&batch=5&rate=9&max_size=1000\
               &idle=2m&ca_file=/etc/ca.pem&timeout_connect=1s&timeout_tls=2s&timeout_greeting=3s&timeout_ehlo=4s\
               &timeout_auth=5&timeout_mail=6s&timeout_reuse=11s&timeout_rcpt=7s&timeout_data=8s&timeout_block=9s&timeout_end=250ms";
    let settings = Settings::from_url(url).unwrap();
    let second = Duration::from_secs;
    let expected = Settings {
        port: 26,
        helo: Some("me.test".to_owned()),
        connections: 3,
        per_connection: 7,
        batch: 5,
        rate: Some(9),
        max_size: 1000,
        idle: second(120),
        ca_file: Some("/etc/ca.pem".into()),
        timeouts: Timeouts {
            connect: second(1),
            tls: second(2),
            greeting: second(3),
            ehlo: second(4),
            auth: second(5),
            mail: second(6),
            reuse: second(11),
            rcpt: second(7),
            data: second(8),
            block: second(9),
            end: Duration::from_millis(250),
        },
        ..Settings::new("h.example", Tls::Required)
    };
    assert_eq!(settings, expected);
}

#[test]
fn all_mistakes_are_reported_at_once_without_the_password() {
    let found = mistakes(
        "http://tim:s3cret@h.example/inbox?tls=maybe&connections=0&rate=fast&idle=soon&colour=red&auth=magic&helo=a%20b",
    );
    for word in
        ["scheme", "after the port", "tls must", "connections", "rate", "idle", "colour", "auth", "helo"]
    {
        assert!(found.iter().any(|mistake| mistake.contains(word)), "nothing about {word} in {found:?}");
    }
    assert!(!found.join(" ").contains("s3cret"));
}

#[test]
fn a_user_without_a_password_and_auth_without_a_user_are_mistakes() {
    assert!(mistakes("smtp://tim@h.example")[0].contains("password"));
    assert!(mistakes("smtp://h.example?auth=plain")[0].contains("user"));
    assert!(!mistakes("not a url").is_empty());
}

#[test]
fn a_misspelled_option_is_answered_with_the_known_one() {
    assert_eq!(
        mistakes("smtp://h.example?timeout_mial=5s"),
        ["timeout_mial is not an option of this target; did you mean `timeout_mail`?"]
    );
    assert_eq!(mistakes("smtp://h.example?idle=0").len(), 1, "zero is no time to keep a connection");
}

#[test]
fn a_relay_has_one_host_and_a_password_is_not_empty() {
    assert!(mistakes("smtp://one.example,two.example")[0].contains("one host"));
    assert!(mistakes("smtps://tim:@h.example")[0].contains("user needs a password"));
    assert!(mistakes("smtp://")[0].contains("the host is missing"));
    let settings = Settings::from_url("smtps://[2001:db8::1]:2465").unwrap();
    assert_eq!((settings.host.as_str(), settings.port), ("2001:db8::1", 2465));
    assert_eq!(settings.target(), "[2001:db8::1]:2465");
}

#[test]
fn a_certificate_file_must_be_there_and_hold_one() {
    let missing = crate::Smtp::from_url("smtps://h.example?ca_file=/nowhere/ca.pem").err().unwrap();
    assert!(missing.to_string().contains("/nowhere/ca.pem"));
    let empty = tempfile::NamedTempFile::new().unwrap();
    let url = format!("smtps://h.example?ca_file={}", empty.path().display());
    assert!(crate::Smtp::from_url(&url).err().unwrap().to_string().contains("no certificate"));
}
