//! Tests of backends that a build leaves out.

use super::*;

/// A build without any optional backend.
fn none(_: Feature) -> bool {
    false
}

fn text(scheme: &str, feature: &str) -> String {
    format!(
        "`{scheme}:` is not part of this build: add `--features {feature}`, or build without `--no-default-features`"
    )
}

#[test]
fn a_build_refuses_the_urls_of_backends_that_it_leaves_out_and_names_the_feature() {
    let store = |url: &str| by_scheme(url, &STORES, StoreKind::feature, none);
    assert_eq!(store("dynamodb://eu-west-1/key:secret"), Err(text("dynamodb", "aws")));
    for url in ["postgres://h/d", "mariadb://h/d", "sqlite:a.db"] {
        assert!(store(url).is_ok(), "{url}");
    }
    let transport = |url: &str| by_scheme(url, &TRANSPORTS, TransportKind::feature, none);
    for (scheme, feature) in [
        ("kafka", "kafka"),
        ("kafkas", "kafka"),
        ("nats", "nats"),
        ("tls", "nats"),
        ("amqp", "amqp"),
        ("amqps", "amqp"),
        ("sqs", "aws"),
        ("ses", "providers"),
        ("postmark", "providers"),
    ] {
        let url = format!("{scheme}://user:secret@host");
        assert_eq!(transport(&url), Err(text(scheme, feature)));
    }
    for url in ["smtp://h", "smtps://h", "file:outbox", "reliable:", "webhook://"] {
        assert!(transport(url).is_ok(), "{url}");
    }
    let queue = |url: &str| by_scheme(url, &QUEUES, QueueKind::feature, none);
    for (scheme, feature) in [("nats", "nats"), ("amqps", "amqp"), ("sqs", "aws")] {
        let url = format!("{scheme}://host");
        assert_eq!(queue(&url), Err(text(scheme, feature)));
    }
}

#[test]
fn a_build_refuses_only_what_it_leaves_out() {
    let no_kafka = |feature| feature != Feature::Kafka;
    let transport = |url: &str| by_scheme(url, &TRANSPORTS, TransportKind::feature, no_kafka);
    assert_eq!(transport("kafka://host"), Err(text("kafka", "kafka")));
    assert_eq!(transport("nats://host"), Ok(TransportKind::Nats));
}

#[test]
fn the_default_build_has_every_backend() {
    assert!(STORES.iter().all(|(scheme, kind)| StoreKind::of(&format!("{scheme}:")) == Ok(*kind)));
    assert!(TRANSPORTS.iter().all(|(scheme, kind)| TransportKind::of(&format!("{scheme}:")) == Ok(*kind)));
    assert!(QUEUES.iter().all(|(scheme, kind)| QueueKind::of(&format!("{scheme}:")) == Ok(*kind)));
}

#[test]
fn every_optional_backend_is_a_default_feature_and_is_documented() {
    let read = |path: &str| {
        std::fs::read_to_string(std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
    };
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    let default: Vec<&str> =
        manifest["features"]["default"].as_array().unwrap().iter().filter_map(toml::Value::as_str).collect();
    assert_eq!(default, Feature::ALL.map(Feature::name));
    let guide = read("../../docs/guides/deploy.md");
    for name in default {
        assert!(
            guide.contains(&format!("\n| `{name}` | ")),
            "docs/guides/deploy.md lacks the feature `{name}`"
        );
    }
}
