use super::*;

fn read(url: &str) -> Result<Settings, Vec<String>> {
    Settings::from_url(url, &[]).map_err(|error| error.mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn a_plain_url_has_sound_defaults() {
    let settings = read("nats://one,two:4333").unwrap();
    assert_eq!(settings.target(), "one:4222,two:4333");
    assert_eq!((settings.tls, settings.credentials, settings.batch), (false, None, 500));
}

#[test]
fn credentials_come_in_four_kinds_one_at_a_time() {
    let of = |url: &str| read(url).map(|settings| settings.credentials.unwrap());
    let password = Credentials::Password { user: "me".to_owned(), password: Secret::new("pw") };
    assert_eq!(of("tls://me:pw@h"), Ok(password));
    assert_eq!(of("tls://tok@h"), Ok(Credentials::Token(Secret::new("tok"))));
    assert_eq!(of("tls://h?token=tok"), Ok(Credentials::Token(Secret::new("tok"))));
    assert_eq!(of("nats://h?nkey=SUA"), Ok(Credentials::Nkey(Secret::new("SUA"))));
    assert_eq!(of("nats://h?credentials_file=/c"), Ok(Credentials::File("/c".into())));
    assert!(of("tls://me:pw@h?token=tok").is_err());
    assert!(of("nats://me:pw@h").is_err(), "plain text");
    assert!(of("nats://me:pw@localhost").is_ok());
}

#[test]
fn every_mistake_is_reported_at_once_without_the_password() {
    let mistakes =
        read("nat://:hunter2@h/x?batch=0&concurrency=x&connect_timeout=1ms&key_file=/k&odd=1").unwrap_err();
    assert_eq!(mistakes.len(), 8, "{mistakes:#?}");
    assert!(!mistakes.join(" ").contains("hunter2"));
    let settings = read("tls://me:hunter2@h?ca_file=/a").unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
}
