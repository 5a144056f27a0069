//! Tests that every settings key has an effect on stores, transports, queues, composers or lanes, and that every field
//! of the settings is used outside the code that fills it.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::tests::load;
use super::{Key, Section, sections};
use crate::settings::{QueueSettings, Settings, TransportSettings};
use crate::wiring::{QueueKind, TransportKind, email_settings};

/// Second values of keys for which the rule of their type makes no valid one.
const OTHER_VALUES: &[(&str, &str)] = &[
    ("server.listen", "\"127.0.0.1:8081\""),
    ("server.metrics", "\"key\""),
    ("server.api", "\"off\""),
    ("telemetry.otlp", "\"http://127.0.0.1:4319\""),
    ("stores.main.url", "\"sqlite:other.db\""),
    ("stores.shop.pooler", "\"session\""),
    ("transports.relay.tls", "\"implicit\""),
    ("transports.relay.auth", "\"login\""),
    ("transports.kafka.sasl", "\"scram-sha-256\""),
    ("transports.kafka.compression", "\"gzip\""),
    ("transports.hooks.allow", "\"10.2.0.0/16\""),
    ("transports.hooks.plain_http", "\"never\""),
    ("transports.hooks.roots", "\"system\""),
    ("transports.sendgrid.url", "\"sendgrid://?timeout=7s\""),
    ("transports.sendgrid.region", "\"us\""),
    ("transports.mailgun.url", "\"mailgun://mg.example.org\""),
    ("transports.postmark.url", "\"postmark://?timeout=7s\""),
    ("transports.sqs.account", "\"210987654321\""),
    ("queues.jobs_sqs.account", "\"210987654321\""),
    ("transports.hooks.url", "\"webhook://?batch=2\""),
    ("transports.senders.senders", "[\"relay\", \"ses\"]"),
    ("transports.senders.rates", "{ ses = 15 }"),
    ("transports.senders.waits", "[\"0s\", \"1s\"]"),
    ("mail.locale", "\"de\""),
    ("mail.time_zone", "\"Europe/Berlin\""),
    ("mail.dkim.key", "\"file://dkim2.pem\""),
    ("lanes.mail.requeue.from", "[\"failed\", \"sent\"]"),
    ("lanes.mail.message.text", "\"text_body?\""),
    ("lanes.mail.store", "\"shop\""),
    ("lanes.mail.transport", "\"relay\""),
    ("lanes.mail.claim.order", "[\"id\"]"),
    ("lanes.mail.due.null", "\"now\""),
    ("lanes.events.dead_letter", "\".dead\""),
    ("lanes.events.group.on_error", "\"block\""),
    ("lanes.events.transport", "\"sqs\""),
    ("lanes.events.store", "\"main\""),
    ("lanes.jobs.store", "\"main\""),
    ("lanes.jobs.queue", "\"jobs_token\""),
    ("lanes.jobs.cancel.from", "[\"QUEUED\", \"PENDING\"]"),
    ("lanes.seats.store", "\"main\""),
    ("lanes.seats.transport", "\"relay\""),
    ("lanes.intake.store", "\"shop\""),
    ("lanes.sent.store", "\"shop\""),
    ("lanes.sent.stage", "\"failed_callback\""),
    ("lanes.events.metrics.delivered", "\"outbox_sent_total\""),
];

/// Keys for which any other value contradicts the file or names something missing: the mistake is the effect.
const REFUSED: [&str; 15] = [
    "transports.senders.url",
    "transports.hooks.roots",
    "transports.kafka.tls",
    "transports.nats.tls",
    "queues.jobs.tls",
    "lanes.mail.contract",
    "lanes.mail.stage",
    "lanes.events.contract",
    "lanes.jobs.contract",
    "lanes.jobs.transport",
    "lanes.seats.contract",
    "lanes.intake.contract",
    "lanes.intake.stage",
    "lanes.sent.contract",
    "lanes.sent.transport",
];

/// Another value of the key, of the same type.
fn other(section: &Section, key: &Key) -> String {
    let path = format!("{}.{}", section.table(), key.name);
    if let Some((_, other)) = OTHER_VALUES.iter().find(|(known, _)| *known == path) {
        return (*other).to_owned();
    }
    let example = key.example;
    let text = |from: &str, to: &str| example.contains(from).then(|| example.replace(from, to));
    match key.kind {
        "boolean" => if example == "true" { "false" } else { "true" }.to_owned(),
        "number" => match example.parse::<u64>() {
            Ok(number) => (number + 1).to_string(),
            Err(_) => "0.3".to_owned(),
        },
        "duration" => {
            let digits: String = example.chars().filter(char::is_ascii_digit).collect();
            let number: u64 = digits.parse().expect("a number and a unit");
            example.replace(&digits, &(number + 1).to_string())
        }
        "size" => example.replace(['1', '6', '2'], "3"),
        "secret" if example.contains("env://") => {
            example.replace('"', "").replacen("env://", "\"env://OTHER_", 1) + "\""
        }
        _ => text("example.com", "example.org")
            .or_else(|| text("eu-west-1", "us-east-1"))
            .unwrap_or_else(|| example.trim_end_matches('"').to_owned() + "2\""),
    }
}

/// A file that sets every key, one of them to its other value.
fn file_with(changed: Option<(&str, &str, &str)>) -> String {
    let mut text = String::new();
    for section in sections() {
        let _ = writeln!(text, "{}", section.header);
        for key in &section.keys {
            let value = changed
                .filter(|(header, name, _)| *header == section.header && *name == key.name)
                .map_or(key.example, |(_, _, value)| value);
            let _ = writeln!(text, "{} = {value}", key.name);
        }
    }
    text
}

/// Everything that is built from the settings, secrets included, as text.
fn seen(settings: &Settings) -> String {
    let mut seen = format!("{:?} {:?}\n", settings.server, settings.telemetry);
    for store in settings.stores.values() {
        let listen = store.listen_url.as_ref().map(|url| url.reveal().to_owned());
        let _ = writeln!(seen, "{store:?} {} {listen:?}", store.url.reveal());
    }
    for transport in settings.transports.values() {
        let _ = writeln!(seen, "{transport:?} {}", target(transport));
    }
    for queue in settings.queues.values() {
        let _ = writeln!(seen, "{queue:?} {}", carrier(queue));
    }
    for lane in &settings.lanes {
        let keys: Vec<&str> = lane.mail.dkim.iter().map(|dkim| dkim.key.reveal()).collect();
        let mail = email_settings(&lane.name, &lane.mail).is_ok();
        let secrets = [&lane.emails.callback_secret, &lane.emails.callback_old_secret]
            .map(|secret| secret.as_ref().map(|secret| secret.reveal().to_owned()));
        let _ = writeln!(seen, "{lane:?} {keys:?} {mail} {secrets:?}");
    }
    seen
}

/// The target that a transport makes of its URL and options.
fn target(transport: &TransportSettings) -> String {
    use {
        postrider_transport_amqp as amqp, postrider_transport_kafka as kafka,
        postrider_transport_nats as nats, postrider_transport_provider as provider,
        postrider_transport_smtp as smtp, postrider_transport_sqs as sqs,
        postrider_transport_webhook as webhook,
    };
    let (url, options) = (transport.url.reveal(), transport.options());
    let secrets: Vec<&String> =
        options.iter().filter(|(key, _)| SECRET.contains(&key.as_str())).map(|(_, value)| value).collect();
    let made = match transport.kind {
        TransportKind::Smtp => format!("{:?}", smtp::Settings::from_url(url)),
        TransportKind::Kafka => format!("{:?}", kafka::Settings::from_url(url, &options)),
        TransportKind::Nats => format!("{:?}", nats::Settings::from_url(url, &options)),
        TransportKind::Amqp => format!("{:?}", amqp::Settings::from_url(url, &options)),
        TransportKind::Sqs => format!("{:?}", sqs::Settings::from_url(url, &options)),
        TransportKind::Provider => format!("{:?}", provider::Settings::from_url(url, &options)),
        TransportKind::Webhook => format!("{:?}", webhook::Settings::from_url(url, &options)),
        TransportKind::Folder | TransportKind::Reliable => url.to_owned(),
    };
    let password = url::Url::parse(url).ok().and_then(|url| url.password().map(str::to_owned));
    format!("{made} {password:?} {secrets:?}")
}

fn carrier(queue: &QueueSettings) -> String {
    use {
        postrider_transport_amqp as amqp, postrider_transport_nats as nats, postrider_transport_sqs as sqs,
    };
    let (url, options) = (queue.url.reveal(), queue.options());
    let secrets: Vec<&String> =
        options.iter().filter(|(key, _)| SECRET.contains(&key.as_str())).map(|(_, value)| value).collect();
    let made = match queue.kind {
        QueueKind::Nats => format!("{:?}", nats::Settings::from_url(url, &options)),
        QueueKind::Amqp => format!("{:?}", amqp::Settings::from_url(url, &options)),
        QueueKind::Sqs => format!("{:?}", sqs::Settings::from_url(url, &options)),
    };
    format!("{made} {secrets:?}")
}

/// Options that settings mask when they are printed.
const SECRET: [&str; 4] = ["password", "key", "token", "nkey"];

#[test]
fn every_key_changes_something() {
    let before = seen(&load(&file_with(None)).unwrap_or_else(|mistakes| panic!("{mistakes}")));
    let (mut idle, mut refused) = (Vec::new(), Vec::new());
    for section in sections() {
        for key in &section.keys {
            let value = other(&section, key);
            let path = format!("{}.{}", section.table(), key.name);
            match load(&file_with(Some((section.header, key.name, &value)))) {
                Ok(settings) if seen(&settings) == before => idle.push(format!("{path} = {value}")),
                Ok(_) => {}
                Err(_) if REFUSED.contains(&path.as_str()) => {}
                Err(mistakes) => refused.push(format!("{path} = {value}: {mistakes}")),
            }
        }
    }
    assert!(refused.is_empty(), "no settings with these values: {refused:#?}");
    assert!(idle.is_empty(), "these keys change nothing: {idle:#?}");
}

/// Structs that are filled in one place and used in another: the file, the struct, and the folders that use it.
const FILLED: &[(&str, &str, &[&str])] = &[
    ("postrider/src/settings/server.rs", "Server", &["postrider/src"]),
    ("postrider/src/settings/backends.rs", "StoreSettings", &["postrider/src"]),
    ("postrider/src/settings/backends.rs", "TransportSettings", &["postrider/src"]),
    ("postrider/src/settings/queues.rs", "QueueSettings", &["postrider/src"]),
    ("postrider/src/settings/mail.rs", "MailSettings", &["postrider/src"]),
    ("postrider/src/settings/mail.rs", "Dkim", &["postrider/src"]),
    ("postrider/src/settings/emails.rs", "EmailsSettings", &["postrider/src"]),
    ("postrider/src/settings/records.rs", "RecordSettings", &["postrider/src"]),
    ("postrider/src/settings/reliable.rs", "ReliableSettings", &["postrider/src"]),
    ("postrider/src/settings.rs", "LaneSettings", &["postrider/src"]),
    ("telemetry/src/settings.rs", "Settings", &["telemetry/src"]),
    ("engine/src/lane.rs", "Limits", &["engine/src"]),
    ("transports/smtp/src/config.rs", "Settings", &["transports/smtp/src"]),
    ("transports/smtp/src/config.rs", "Timeouts", &["transports/smtp/src"]),
    ("transports/kafka/src/config.rs", "Settings", &["transports/kafka/src"]),
    ("transports/nats/src/config.rs", "Settings", &["transports/nats/src"]),
    ("transports/amqp/src/config.rs", "Settings", &["transports/amqp/src"]),
    ("transports/sqs/src/config.rs", "Settings", &["transports/sqs/src"]),
    ("transports/provider/src/config.rs", "Settings", &["transports/provider/src"]),
    ("transports/webhook/src/config.rs", "Settings", &["transports/webhook/src"]),
];

/// Fields that are used where they are filled, because they are checked or converted there.
const USED_WHEN_READ: &[(&str, &str, &str)] = &[
    (
        "postrider/src/settings/server.rs",
        "secret_ttl",
        "the secrets of the settings are cached for so long: load.rs",
    ),
    (
        "transports/smtp/src/config.rs",
        "allow_plaintext_auth",
        "credentials without TLS are refused or accepted",
    ),
    (
        "transports/kafka/src/config.rs",
        "allow_plaintext_auth",
        "credentials without TLS are refused or accepted",
    ),
    (
        "transports/nats/src/config.rs",
        "allow_plaintext_auth",
        "credentials without TLS are refused or accepted",
    ),
    (
        "transports/amqp/src/config.rs",
        "allow_plaintext_auth",
        "credentials without TLS are refused or accepted",
    ),
    (
        "transports/provider/src/config.rs",
        "allow_plaintext",
        "an endpoint without TLS is refused or accepted",
    ),
    ("transports/provider/src/config.rs", "endpoint", "Settings::base() is made of it"),
    (
        "transports/kafka/src/config.rs",
        "brokers",
        "Settings::target() is made of it, which the producer connects to",
    ),
];

#[test]
fn every_field_of_the_settings_is_used() {
    let mut unused = Vec::new();
    for (file, name, folders) in FILLED {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let filled = crates.join(file);
        let text = std::fs::read_to_string(&filled).unwrap_or_else(|error| panic!("{file}: {error}"));
        let code: String = folders.iter().map(|folder| code_below(&crates.join(folder), &filled)).collect();
        let fields = fields(&text, name);
        assert!(!fields.is_empty(), "{file} has no struct {name}");
        for field in fields {
            let at_once = USED_WHEN_READ.iter().any(|(known, used, _)| known == file && *used == field);
            if reads(&code, &field) == at_once {
                unused.push(format!("{file}: {name}.{field}"));
            }
        }
    }
    assert!(unused.is_empty(), "nothing uses these, or they are used and listed as unused: {unused:#?}");
}

/// The public fields of a struct.
fn fields(text: &str, name: &str) -> Vec<String> {
    let Some((_, rest)) = text.split_once(&format!("pub struct {name} {{")) else { return Vec::new() };
    let body = rest.split("\n}").next().unwrap_or_default();
    let lines = body.lines().filter_map(|line| line.trim().strip_prefix("pub "));
    lines.filter_map(|line| line.split_once(':')).map(|(field, _)| field.to_owned()).collect()
}

/// All code of a folder except the file itself, its folder, and tests.
fn code_below(folder: &Path, filled: &Path) -> String {
    let mut code = String::new();
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    paths.sort();
    for path in paths {
        let own = path == filled || path == filled.with_extension("");
        let tests =
            path.file_stem().is_some_and(|stem| stem == "tests" || stem == "settings" && path.is_dir());
        if own || tests {
            continue;
        }
        if path.is_dir() {
            code.push_str(&code_below(&path, filled));
        } else if path.extension().is_some_and(|end| end == "rs") {
            code.push_str(&std::fs::read_to_string(&path).expect("code can be read"));
        }
    }
    code
}

/// Whether the code contains `.field`, and not as the start of a longer name or a call.
fn reads(code: &str, field: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_' || c == '(');
    code.match_indices(&format!(".{field}")).any(|(at, found)| ends(&code[at + found.len()..]))
}
