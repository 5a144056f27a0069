use super::*;

fn read(url: &str) -> Result<Settings, Vec<String>> {
    Settings::from_url(url, &[]).map_err(|error| error.mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn everything_but_the_scheme_may_be_left_out() {
    let settings = read("sqs://").unwrap();
    assert_eq!((settings.region, settings.credentials, settings.endpoint), (None, None, None));
    assert_eq!(read("sqs://eu-west-1").unwrap().region.as_deref(), Some("eu-west-1"));
}

#[test]
fn keys_and_an_emulator_can_be_named() {
    let settings =
        read("sqs://AK:S%2Fhunter2@us-east-1?endpoint=http://127.0.0.1:4566&account=000000000000").unwrap();
    assert_eq!(settings.credentials.as_ref().unwrap().secret_key, Secret::new("S/hunter2"));
    assert_eq!(settings.target(), "http://127.0.0.1:4566");
    assert!(!format!("{settings:?}").contains("hunter2"));
}

#[test]
fn every_mistake_is_reported_at_once() {
    let url = "aws://AK@EU_west,b?endpoint=ftp://x&account=1&connect_timeout=0s&batch=0&requests=x&max_size=0&odd=1";
    let mistakes = read(url).unwrap_err();
    assert_eq!(mistakes.len(), 11, "{mistakes:#?}");
}
