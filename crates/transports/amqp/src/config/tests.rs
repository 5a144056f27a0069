use super::*;

fn read(url: &str) -> Result<Settings, Vec<String>> {
    Settings::from_url(url, &[]).map_err(|error| error.mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn a_plain_url_has_sound_defaults() {
    let settings = read("amqp://localhost").unwrap();
    assert_eq!((settings.target().as_str(), settings.vhost.as_str()), ("localhost:5672", "/"));
    assert_eq!((settings.credentials.user.as_str(), settings.exchange), ("guest", None));
    assert_eq!(read("amqps://me:pw@h").unwrap().target(), "h:5671");
}

#[test]
fn the_path_is_the_vhost() {
    assert_eq!(read("amqp://localhost/shop").unwrap().vhost, "shop");
    assert_eq!(read("amqp://localhost/%2f").unwrap().vhost, "/");
    assert!(read("amqp://localhost/").is_err(), "an empty name is no vhost of anybody's");
}

#[test]
fn every_mistake_is_reported_at_once_without_the_password() {
    let url = "amqpx://me:hunter2@h?exchange=&ca_file=/c&key_file=/k&heartbeat=0s&connect_timeout=x&channels=0&batch=x&odd=1";
    let mistakes = read(url).unwrap_err();
    assert_eq!(mistakes.len(), 10, "{mistakes:#?}");
    assert!(!mistakes.join(" ").contains("hunter2"));
    let settings = read("amqps://me:hunter2@h?exchange=deals&channels=2").unwrap();
    assert!(!format!("{settings:?}").contains("hunter2"));
    assert_eq!((settings.exchange.as_deref(), settings.channels), (Some("deals"), 2));
}
