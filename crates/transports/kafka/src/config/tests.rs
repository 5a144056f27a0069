use super::*;

fn read(url: &str) -> Result<Settings, Vec<String>> {
    Settings::from_url(url, &[]).map_err(|error| error.mistakes.iter().map(ToString::to_string).collect())
}

#[test]
fn a_plain_url_has_sound_defaults() {
    let settings = read("kafka://one:9093,two").unwrap();
    assert_eq!(settings.target(), "one:9093,two:9092");
    assert_eq!((settings.tls, settings.batch, settings.compression), (false, 500, Compression::None));
    assert!(
        settings.timeout() < Duration::from_secs(5),
        "the producer answers before the lane's timeout (rule O4)"
    );
}

#[test]
fn every_option_is_read() {
    let url = "kafkas://me:pw@h?sasl=scram-sha-512&ca_file=/a&cert_file=/c&key_file=/k&client_id=x&timeout=2s\
               &linger=1ms&compression=zstd&queue=1000&batch=10&concurrency=2&max_size=5000";
    let settings = read(url).unwrap();
    assert_eq!(settings.credentials.as_ref().unwrap().mechanism, Mechanism::ScramSha512);
    assert_eq!(settings.certificate, Some(("/c".into(), "/k".into())));
    assert_eq!((settings.compression, settings.queue, settings.max_size), (Compression::Zstd, 1000, 5000));
    assert!(settings.tls && !format!("{settings:?}").contains("pw"));
}

#[test]
fn every_mistake_is_reported_at_once_without_the_password() {
    let url =
        "kafka://me:hunter2@h:0,h/x?sasl=md5&batch=0&timeout=1ms&queue=x&cert_file=/c&odd=1&compression=zip";
    let mistakes = read(url).unwrap_err();
    assert_eq!(mistakes.len(), 11, "{mistakes:#?}");
    assert!(!mistakes.join(" ").contains("hunter2"));
}

#[test]
fn credentials_need_tls_a_loopback_address_or_a_word() {
    assert!(read("kafka://me:pw@h").is_err());
    assert!(read("kafka://me:pw@127.0.0.1,h").is_err());
    assert!(read("kafka://me:pw@h?allow_plaintext_auth=true").is_ok());
    assert!(read("kafka://me:pw@127.0.0.1").is_ok());
    assert!(read("kafkas://me:pw@h").is_ok());
    assert!(read("kafkas://me@h").is_err());
}

#[test]
fn o02_the_delivery_timeout_follows_a_short_publish_timeout_and_no_long_one() {
    let within = |publish| {
        let settings = Settings::from_url("kafka://a:9092", &[]).unwrap();
        settings.within(publish).timeout()
    };
    assert_eq!(within(Duration::from_secs(2)), Duration::from_millis(1800));
    assert_eq!(within(Duration::from_mins(5)), Duration::from_millis(4500));
    let set = Settings::from_url("kafka://a:9092?timeout=2m", &[]).unwrap();
    assert_eq!(set.within(Duration::from_mins(5)).timeout(), Duration::from_mins(2));
}
