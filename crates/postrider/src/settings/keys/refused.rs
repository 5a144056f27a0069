//! Tests that each kind of store, transport, queue and composer refuses the keys that it has no use for, each at its own
//! line, and that a composer's settings contain every key that it accepts.

use std::sync::Arc;

use super::sections;
use super::tests::load;
use crate::settings::LaneSettings;
use crate::wiring::{ComposerKind, email_settings, emails, notifications};

/// Kinds of transports and queues: the lines that each needs, and the keys that it accepts: those of sections of
/// keys.txt, and single ones.
type Kind = (&'static str, &'static [&'static str], &'static [&'static str]);

const PROVIDER: &[&str] = &[
    "endpoint",
    "allow_plaintext_auth",
    "concurrency",
    "max_size",
    "connect_timeout",
    "timeout",
    "longest_retry_after",
];

const RESEND: &[&str] = &[
    "key",
    "endpoint",
    "allow_plaintext_auth",
    "concurrency",
    "max_size",
    "connect_timeout",
    "timeout",
    "longest_retry_after",
];

const TRANSPORTS: [Kind; 13] = [
    ("url = \"file:outbox\"", &["files"], &[]),
    ("url = \"smtp://127.0.0.1:25\"", &["relay"], &[]),
    ("url = \"kafka://127.0.0.1:9092\"", &["kafka"], &[]),
    ("url = \"nats://127.0.0.1:4222\"", &["nats", "nats_creds", "nats_token", "nats_nkey"], &[]),
    ("url = \"amqp://127.0.0.1/\"", &["rabbit"], &[]),
    ("url = \"sqs://eu-west-1\"", &["sqs"], &[]),
    // The secret key may be called key, as with other providers.
    ("url = \"ses://eu-west-1\"", &["ses"], &["key"]),
    ("url = \"sendgrid://\"\nkey = \"k\"", &["sendgrid"], PROVIDER),
    ("url = \"mailgun://mg.example.com\"\nkey = \"k\"", &["mailgun", "sendgrid"], PROVIDER),
    ("url = \"postmark://\"\nkey = \"k\"", &["postmark"], PROVIDER),
    // It shares what all providers have, and its key.
    ("url = \"resend://\"\nkey = \"k\"", &[], RESEND),
    ("url = \"webhook://\"", &["hooks"], &[]),
    ("url = \"reliable:\"\nsenders = [\"relay\"]", &["senders"], &[]),
];

const QUEUES: [Kind; 3] = [
    (
        "url = \"nats://127.0.0.1:4222\"\nqueue = \"q\"",
        &["jobs", "jobs_token", "jobs_nkey", "jobs_creds"],
        &[],
    ),
    (
        "url = \"amqp://127.0.0.1/\"\nqueue = \"q\"",
        &["jobs_rabbit"],
        &[
            "publish_timeout",
            "user",
            "password",
            "allow_plaintext_auth",
            "ca_file",
            "cert_file",
            "key_file",
            "name",
            "connect_timeout",
            "batch",
        ],
    ),
    (
        "url = \"sqs://eu-west-1\"\nqueue = \"q\"",
        &["jobs_sqs"],
        &["patience", "publish_timeout", "user", "password", "connect_timeout", "batch", "concurrency"],
    ),
];

/// The lanes that every file needs.
const LANE: &str = "[lanes.mail]\ncontract = \"mail_outbox\"\nstore = \"main\"\ntransport = \"relay\"\n\
                    [stores.main]\nurl = \"sqlite:app.db\"\n[transports.relay]\nurl = \"smtp://127.0.0.1:25\"\n";

/// Returns what is wrong with how a key at the end of the file is refused; `None` if it is refused at its own line.
fn not_refused(text: &str, path: &str) -> Option<String> {
    let mistakes = match load(text) {
        Ok(_) => return Some(format!("{path} is accepted:\n{text}")),
        Err(mistakes) => mistakes.to_string(),
    };
    let line = text.lines().count();
    let own = mistakes.lines().any(|found| {
        found.contains(&format!("postrider.toml:{line}:")) && found.contains(&format!(" {path}: "))
    });
    (!own).then(|| format!("{path} is not named at line {line}: {mistakes}"))
}

fn check_kinds(group: &str, kinds: &[Kind]) {
    let all: Vec<_> = sections().into_iter().filter(|section| section.table().starts_with(group)).collect();
    let mut wrong = Vec::new();
    for (lines, own, more) in kinds {
        let own: Vec<String> = own.iter().map(|name| format!("{group}.{name}")).collect();
        let of_kind = all.iter().filter(|section| own.iter().any(|own| own == section.table()));
        let known: Vec<&str> = of_kind
            .flat_map(|section| &section.keys)
            .map(|key| key.name)
            .chain(more.iter().copied())
            .collect();
        for key in all.iter().flat_map(|section| &section.keys) {
            if key.name != "url" && !known.contains(&key.name) {
                let text = format!("{LANE}[{group}.x]\n{lines}\n{} = {}", key.name, key.example);
                wrong.extend(not_refused(&text, &format!("{group}.x.{}", key.name)));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_transport_refuses_every_key_of_other_transports() {
    check_kinds("transports", &TRANSPORTS);
}

#[test]
fn a_queue_refuses_every_key_of_other_queues() {
    check_kinds("queues", &QUEUES);
}

#[test]
fn options_in_a_url_are_refused_as_well() {
    for (group, lines) in [
        ("transports", "url = \"file:outbox?timeout=5s\""),
        ("transports", "url = \"kafka://h?liner=1s\""),
        ("queues", "queue = \"q\"\nurl = \"amqp://127.0.0.1/?exchange=x\""),
        ("stores", "url = \"mysql://db/app?ssl_mode=VERIFY_IDENTITY\""),
        ("stores", "url = \"mysql://db/app?time-zone=%2B08:00\""),
        ("stores", "url = \"postgres://db/app?ssl_mode=verify-full\""),
        ("stores", "url = \"sqlite:other.db?mode=ro\""),
        ("stores", "url = \"dynamodb://eu-west-1?retries=3\""),
    ] {
        let text = format!("{LANE}[{group}.x]\n{lines}");
        assert_eq!(not_refused(&text, &format!("{group}.x.url")), None);
    }
}

#[test]
fn a_store_refuses_the_keys_that_it_has_no_use_for() {
    let server = ["connections = 3", "timeout = \"3s\""];
    let postgres = ["listen_url = \"postgres://db/app\"", "pooler = \"session\""];
    let refused = [
        ("mysql://db/app", postgres.to_vec()),
        ("sqlite:other.db", [&server[..], &postgres, &["password = \"p\""]].concat()),
        ("dynamodb://eu-west-1", [&server[..], &postgres].concat()),
    ];
    for (url, keys) in refused {
        for key in keys {
            let text = format!("{LANE}[stores.x]\nurl = \"{url}\"\n{key}");
            let name = key.split(' ').next().unwrap_or_default();
            assert_eq!(not_refused(&text, &format!("stores.x.{name}")), None);
        }
    }
}

/// A lane of each kind of composer, without the tables `mail` and `emails` of the keys below.
const LANES: [(&str, &str); 7] = [
    ("email", "contract = \"mail_outbox\"\ntransport = \"relay\""),
    ("mail_job", "contract = \"open_event_notifications\"\ntransport = \"relay\""),
    ("record", "contract = \"outbox\"\ntransport = \"broker\""),
    ("webhook", "contract = \"dispatch_jobs\"\ntransport = \"hooks\""),
    ("eml", "contract = \"emails\"\nstage = \"intake\"\nemails.base = \"mail\""),
    ("raw_eml", "contract = \"emails\"\nstage = \"send\"\ntransport = \"relay\"\nemails.base = \"mail\""),
    (
        "callback",
        "contract = \"emails\"\nstage = \"sent_callback\"\ntransport = \"hooks\"\n\
         emails.callback_url = \"https://a.example/\"\nemails.callback_secret = \"env://SECRET\"",
    ),
];

const MAIL: [(&str, &str); 11] = [
    ("from", "mail.from = \"other@example.com\""),
    ("domain", "mail.domain = \"example.org\""),
    ("templates", "mail.templates = \"templates\""),
    ("locale", "mail.locale = \"de\"\nmail.templates = \"templates\""),
    ("bounces", "mail.bounces = \"bounces@example.com\""),
    ("recipient_limit", "mail.recipient_limit = 7"),
    ("size_limit", "mail.size_limit = \"2MB\""),
    ("dkim", "mail.dkim = [{ domain = \"example.com\", selector = \"s\", key = \"file://dkim.pem\" }]"),
    ("manage_url", "mail.manage_url = \"https://seats.example.org/{subscription_id}\""),
    ("unsubscribe_url", "mail.unsubscribe_url = \"https://seats.example.org/u/{subscription_id}\""),
    ("time_zone", "mail.time_zone = \"Europe/Berlin\""),
];

const EMAILS: [(&str, &str); 6] = [
    ("base", "emails.base = \"mail\""),
    ("folder", "emails.folder = \"messages\""),
    ("remove_files_after", "emails.remove_files_after = \"1d\""),
    ("callback_url", "emails.callback_url = \"https://b.example/\""),
    ("callback_secret", "emails.callback_secret = \"env://OTHER_SECRET\""),
    ("callback_old_secret", "emails.callback_old_secret = \"env://OTHER_SECRET\""),
];

fn lane_file(lane: &str, key: &str) -> String {
    format!(
        "[mail]\nfrom = \"a@example.com\"\nmanage_url = \"https://a.example/{{subscription_id}}\"\n\
         [stores.main]\nurl = \"sqlite:app.db\"\n[transports.relay]\nurl = \"smtp://127.0.0.1:25\"\n\
         [transports.broker]\nurl = \"kafka://127.0.0.1:9092\"\n[transports.hooks]\nurl = \"webhook://\"\n\
         [lanes.x]\nstore = \"main\"\n{lane}\n{key}"
    )
}

/// The settings of the lane's composer, as text.
fn composed(lane: &LaneSettings) -> String {
    let stage = &lane.contract.stages[lane.stage];
    match ComposerKind::of(&stage.composer).expect("a built-in composer") {
        ComposerKind::Email => format!("{:?}", email_settings(&lane.name, &lane.mail)),
        ComposerKind::MailJob => {
            format!("{:?}", notifications::settings(&lane.name, &lane.contract, stage, &lane.mail))
        }
        kind @ (ComposerKind::Eml | ComposerKind::RawEml | ComposerKind::Callback) => {
            format!("{:?}", emails::stage_settings(kind, lane, Arc::default()))
        }
        ComposerKind::Record | ComposerKind::Webhook => String::new(),
    }
}

#[test]
fn a_lane_refuses_the_keys_that_its_composer_does_not_read() {
    let mut wrong = Vec::new();
    for (name, lane) in LANES {
        let kind = ComposerKind::of(name).expect("a built-in composer");
        let without = load(&lane_file(lane, "")).unwrap_or_else(|mistakes| panic!("{name}: {mistakes}"));
        for (key, line) in MAIL {
            let text = lane_file(lane, line);
            if kind.mail_keys().contains(&key) {
                let with = load(&text).unwrap_or_else(|mistakes| panic!("{name} {key}: {mistakes}"));
                let changes = composed(&with.lanes[0]) != composed(&without.lanes[0]);
                wrong.extend((!changes).then(|| format!("{name}: mail.{key} changes nothing")));
            } else {
                // Only the key itself, on the last line.
                let line = line.lines().next().unwrap_or_default();
                wrong.extend(not_refused(&lane_file(lane, line), &format!("lanes.x.mail.{key}")));
            }
        }
        for (key, line) in EMAILS {
            if kind.emails_keys().contains(&key) {
                continue;
            }
            wrong.extend(not_refused(&lane_file(lane, line), &format!("lanes.x.emails.{key}")));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn a_locale_is_refused_without_templates() {
    let (_, email) = LANES[0];
    assert_eq!(not_refused(&lane_file(email, "mail.locale = \"de\""), "lanes.x.mail.locale"), None);
}

#[test]
fn a_stage_without_a_transport_refuses_the_name_of_one() {
    let (_, intake) = LANES[4];
    for name in ["relay", "anything"] {
        let text = lane_file(intake, &format!("transport = \"{name}\""));
        assert_eq!(not_refused(&text, "lanes.x.transport"), None);
    }
}

#[test]
fn mistakes_in_options_are_reported_at_their_own_lines_all_at_once() {
    let text = format!(
        "{LANE}[transports.kafka]\nurl = \"kafka://h:9092?acks=1\"\nlinger = \"1m\"\ncompression = \"zst\"\ncert_file = \"c.pem\"\n"
    );
    let found = load(&text).unwrap_err().to_string();
    let found: Vec<&str> =
        found.lines().filter_map(|line| line.split_once("postrider.toml:")).map(|(_, rest)| rest).collect();
    assert_eq!(
        found,
        [
            "10:7: transports.kafka.url: acks is not an option of this target; known: allow_plaintext_auth, batch, ca_file, cert_file, \
             client_id, compression, concurrency, key_file, linger, max_size, password, queue, sasl, timeout, tls, user",
            "11:10: transports.kafka.linger: must be at most half of timeout",
            "12:15: transports.kafka.compression: must be one of none, gzip, snappy, lz4, zstd; did you mean `zstd`?",
            "13:13: transports.kafka.cert_file: needs key_file",
        ]
    );
}

#[test]
fn a_lane_on_dynamodb_refuses_the_keys_that_this_store_does_not_read() {
    let (_, intake) = LANES[4];
    for (key, line) in [
        ("claim.order", "claim.order = [\"-created\"]"),
        ("claim.fair", "claim.fair = \"client\""),
        ("lease.fence", "lease.fence = [\"claimed_at\", \"version\"]"),
        ("table.time", "table.time = \"epoch_ms\""),
    ] {
        let text = lane_file(intake, line).replace("sqlite:app.db", "dynamodb://eu-west-1");
        let refused = not_refused(&text, &format!("lanes.x.{key}"));
        // The default fence may be named.
        assert_eq!(refused.is_some(), key == "lease.fence", "{refused:?}");
    }
}
