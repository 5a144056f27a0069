use super::*;

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

#[test]
fn each_provider_has_its_address() {
    for (url, base) in [
        ("sendgrid://", "https://api.sendgrid.com"),
        ("sendgrid://?region=eu", "https://api.eu.sendgrid.com"),
        ("postmark://", "https://api.postmarkapp.com"),
        ("mailgun://mg.example.com", "https://api.mailgun.net"),
        ("mailgun://mg.example.com?region=eu", "https://api.eu.mailgun.net"),
        ("resend://", "https://api.resend.com"),
        ("resend://?endpoint=https://proxy.example.com/", "https://proxy.example.com"),
    ] {
        let settings = Settings::from_url(url, &pairs(&[("key", "k")])).unwrap();
        assert_eq!(settings.base(""), base, "{url}");
    }
    let ses = Settings::from_url("ses://eu-west-1", &[]).unwrap();
    assert_eq!(ses.base("eu-west-1"), "https://email.eu-west-1.amazonaws.com");
    assert_eq!(ses.aws, None);
}

#[test]
fn every_mistake_is_reported_and_no_key_is_shown() {
    let wrong = [
        ("sendgrid://", vec!["no usable key"]),
        ("sendgrid://?key=two%20words", vec!["no usable key"]),
        ("sendgrid://host?key=hush", vec!["unexpected text after sendgrid://"]),
        ("mailgun://?key=hush", vec!["sending domain is missing"]),
        ("mailgun://mg.example.com?key=hush&region=mars", vec!["us or eu"]),
        ("ses://hush@eu-west-1", vec!["needs a secret key"]),
        ("ses://Mars!", vec!["not host:port"]),
        ("resend://?key=hush&endpoint=http://10.0.0.1", vec!["plain text"]),
        ("resend://?key=hush&endpoint=ftp://a&timeout=0s", vec!["http://", "timeout must be"]),
        (
            "resend://?key=hush&longest_retry_after=2d",
            vec!["longest_retry_after must be between 100ms and 24h"],
        ),
        ("resend://?key=hush&stream=x", vec!["stream is not an option"]),
        ("carrier-pigeon://?key=hush", vec!["the scheme must be"]),
    ];
    for (url, expected) in wrong {
        let error = Settings::from_url(url, &[]).unwrap_err().to_string();
        for words in expected {
            assert!(error.contains(words), "{url}: {error}");
        }
        assert!(!error.contains("hush"), "{error}");
    }
}

#[test]
fn a_retry_after_of_an_hour_is_respected_by_default() {
    let read = |url: &str| Settings::from_url(url, &pairs(&[("key", "k")])).unwrap().longest_retry_after;
    assert_eq!(read("resend://"), Duration::from_hours(1));
    assert_eq!(read("resend://?longest_retry_after=PT5M"), Duration::from_mins(5));
}

#[test]
fn plain_text_goes_to_this_machine_only_or_where_it_is_allowed() {
    let read = |endpoint: &str| Settings::from_url(endpoint, &pairs(&[("key", "k")]));
    assert!(read("postmark://?endpoint=http://127.0.0.1:9").is_ok());
    assert!(read("postmark://?endpoint=http://[::1]:9").is_ok());
    assert!(read("postmark://?endpoint=http://mail.internal").is_err());
    assert!(read("postmark://?endpoint=http://mail.internal&allow_plaintext_auth=true").is_ok());
}

#[test]
fn debug_shows_no_key() {
    let settings = Settings::from_url("ses://AKIA:hush@eu-west-1", &[]).unwrap();
    assert!(!format!("{settings:?}").contains("hush"));
    let settings = Settings::from_url("resend://re_hush@", &[]).unwrap();
    assert!(!format!("{settings:?}").contains("hush"));
}
