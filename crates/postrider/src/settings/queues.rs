//! Reads `[queues.NAME]`: an external queue that carries pointers to jobs.

use std::time::Duration;

use postrider_seams::Secret;
use postrider_seams::queue::DEFAULT_REDELIVERY_TIMEOUT;

use super::reader::Reader;
use super::secret::References;
use crate::wiring::{QueueKind, queue_mistakes};

/// The settings of an external queue.
#[cfg_attr(
    not(any(feature = "amqp", feature = "aws", feature = "nats")),
    expect(dead_code, reason = "read by the queues, of which such a build has none")
)]
#[derive(Debug, Clone)]
pub struct QueueSettings {
    pub name: String,
    pub kind: QueueKind,
    pub url: Secret,
    options: Vec<(String, Secret)>,
    /// The name at the broker: of a stream or a queue.
    pub queue: String,
    /// NATS only: the subject of the pointers, and the consumer that all workers share.
    pub subject: Option<String>,
    pub consumer: Option<String>,
    /// Time after which the broker redelivers a pointer that was not acknowledged.
    pub patience: Duration,
    /// Longest wait for the broker when a job is created.
    pub publish_timeout: Duration,
}

/// The options that brokers accept next to their URL.
const OPTIONS: [&str; 18] = [
    "account",
    "allow_plaintext_auth",
    "batch",
    "ca_file",
    "cert_file",
    "channels",
    "concurrency",
    "connect_timeout",
    "credentials_file",
    "domain",
    "endpoint",
    "heartbeat",
    "key_file",
    "name",
    "nkey",
    "requests",
    "tls",
    "token",
];

impl QueueSettings {
    /// Reads the table; `None` if a mistake was recorded.
    pub fn read(name: String, reader: &Reader<'_>) -> Option<Self> {
        let url = reader.secret("url", References::NoFiles);
        let url = reader.required("url", url, "url = \"nats://host:4222\" (or amqp:, sqs:)");
        let kind = url.as_ref().and_then(|url| match QueueKind::of(url.value.reveal()) {
            Ok(kind) => Some(kind),
            Err(text) => {
                reader.wrong_at(&url.place, "url", text);
                None
            }
        });
        let queue = reader.text("queue").map(|found| found.value);
        let queue = reader.required("queue", queue, "queue = \"jobs\": the name of the stream or queue");
        let subject = reader.text("subject").map(|found| found.value);
        let consumer = reader.text("consumer").map(|found| found.value);
        let patience = reader.duration("patience", Duration::from_secs(5)..=Duration::from_hours(12));
        let of_kind = |kinds: &[QueueKind]| kind.is_none_or(|kind| kinds.contains(&kind));
        if !of_kind(&[QueueKind::Nats, QueueKind::Sqs]) {
            let text = "is for NATS and SQS: an AMQP broker hands a pointer on when its channel closes";
            refuse(reader, "patience", text);
        }
        if !of_kind(&[QueueKind::Nats]) {
            refuse(reader, "subject", "is only for NATS");
            refuse(reader, "consumer", "is only for NATS");
        }
        let timeouts = Duration::from_millis(100)..=Duration::from_secs(30);
        let publish_timeout = reader.duration("publish_timeout", timeouts);
        let user = reader.text("user").map(|found| Secret::new(found.value));
        let password = reader.secret("password", References::All).map(|found| found.value);
        let mut options: Vec<(String, Secret)> = OPTIONS
            .into_iter()
            .filter_map(|key| Some((key.to_owned(), Secret::new(reader.option(key)?))))
            .collect();
        options.extend(user.map(|user| ("user".to_owned(), user)));
        options.extend(password.map(|password| ("password".to_owned(), password)));
        let place = url.as_ref().map_or_else(|| reader.place().clone(), |url| url.place.clone());
        let names = ["queue", "subject", "consumer", "user", "password"].into_iter().chain(OPTIONS);
        let set = reader.set_keys(names);
        let made = kind.zip(url).zip(queue).map(|((kind, url), queue)| Self {
            name,
            kind,
            url: url.value,
            options,
            queue,
            subject,
            consumer,
            patience: patience.unwrap_or(DEFAULT_REDELIVERY_TIMEOUT),
            publish_timeout: publish_timeout.unwrap_or(Duration::from_secs(2)),
        });
        if let Some(made) = &made {
            reader.wrong_options(&place, &set, &queue_mistakes(made));
        }
        reader.finish();
        made
    }

    /// The options next to the URL.
    #[cfg_attr(
        not(any(feature = "amqp", feature = "aws", feature = "nats")),
        expect(dead_code, reason = "read by the queues, of which such a build has none")
    )]
    pub fn options(&self) -> Vec<(String, String)> {
        self.options.iter().map(|(key, value)| (key.clone(), value.reveal().to_owned())).collect()
    }
}

/// Reports a key that this kind of queue has no use for, if it is set.
fn refuse(reader: &Reader<'_>, key: &'static str, text: &str) {
    if let Some(place) = reader.place_of(key) {
        reader.wrong_at(&place, key, text);
    }
}
