use super::*;

fn read(url: &str) -> Result<Settings, Vec<String>> {
    Settings::from_url(url, &[]).map_err(|error| error.mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn nothing_need_be_said() {
    let settings = read("webhook://").unwrap();
    assert_eq!((settings.timeout, settings.guard.allow.len()), (Duration::from_secs(30), 0));
}

#[test]
fn networks_can_be_allowed() {
    let overrides =
        [("allow".to_owned(), "127.0.0.0/8, ::1".to_owned()), ("plain_http".to_owned(), "never".to_owned())];
    let settings = Settings::from_url("webhook://?per_host=8&timeout=5s", &overrides).unwrap();
    assert_eq!(settings.guard.allow.len(), 2);
    assert_eq!((settings.guard.plain_http, settings.per_host), (PlainHttp::Never, 8));
}

#[test]
fn every_mistake_is_reported_at_once() {
    let url = "http://a.example?allow=10.0.0.1/8,x&plain_http=maybe&timeout=10m&per_host=0&odd=1&roots=system&ca_file=x";
    let mistakes = read(url).unwrap_err();
    assert_eq!(mistakes.len(), 9, "{mistakes:#?}");
}
