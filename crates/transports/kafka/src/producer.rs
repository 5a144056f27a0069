//! One producer of librdkafka, from its start to its retirement.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rdkafka::ClientConfig;
use rdkafka::error::{KafkaError, RDKafkaErrorCode as Code};
use rdkafka::producer::{FutureProducer, Producer as _, PurgeConfig};

use crate::config::{Compression, Mechanism, Settings};
use crate::connection_monitor::{Callbacks, ConnectionMonitor};
use crate::error::{BROKER, Error};

/// Maximum bytes that headers and framing add to a payload.
const MAX_OVERHEAD: u32 = 64 * 1024;

/// The number of records that share a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Batching {
    Batched,
    Single,
}

pub(crate) struct Producer {
    /// `None` only while it is being dropped.
    inner: Option<FutureProducer<Callbacks>>,
    pub(crate) monitor: Arc<ConnectionMonitor>,
    retired: AtomicBool,
}

impl Producer {
    /// Starts a producer, which connects in the background: this succeeds even while the cluster is down.
    pub(crate) fn start(settings: &Settings, batching: Batching) -> Result<Self, Error> {
        let monitor = Arc::new(ConnectionMonitor::new());
        let mut config = configuration(settings);
        if batching == Batching::Single {
            config.set("batch.num.messages", "1").set("linger.ms", "0");
        }
        let inner = config
            .create_with_context(Callbacks(Arc::clone(&monitor)))
            .map_err(|error| Error::one(BROKER, without_value(&error)))?;
        Ok(Self { inner: Some(inner), monitor, retired: AtomicBool::new(false) })
    }

    pub(crate) fn inner(&self) -> &FutureProducer<Callbacks> {
        self.inner.as_ref().expect("taken only when dropped")
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Acquire)
    }

    /// Drops the records that are not sent yet; requests in flight still get their reports.
    pub(crate) fn retire(&self) {
        if !self.retired.swap(true, Ordering::AcqRel) {
            self.inner().purge(PurgeConfig::default().queue().non_blocking());
        }
    }

    /// Returns the fatal error after which librdkafka accepts no more records, if there was one.
    pub(crate) fn fatal(&self) -> Option<(Code, String)> {
        self.inner().client().fatal_error()
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        // librdkafka joins its threads here, which would block a task of the runtime.
        let inner = self.inner.take();
        std::thread::spawn(move || drop(inner));
    }
}

/// Returns the error without the value that caused it, which may be a password.
fn without_value(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, description, key, _) => format!("{key}: {description}"),
        other => other.to_string(),
    }
}

fn configuration(settings: &Settings) -> ClientConfig {
    let mut config = ClientConfig::new();
    let timeout = settings.timeout();
    config
        .set("bootstrap.servers", settings.target())
        .set("client.id", &settings.client_id)
        // Exactly once per producer, in order, with several requests in flight.
        .set("enable.idempotence", "true")
        .set("acks", "all")
        .set("max.in.flight.requests.per.connection", "5")
        .set("message.timeout.ms", millis(timeout))
        // A hanging broker is detected early enough to ask again.
        .set("request.timeout.ms", millis((timeout / 2).max(Duration::from_millis(50))))
        .set("socket.timeout.ms", millis(timeout.max(Duration::from_secs(1))))
        .set(
            "socket.connection.setup.timeout.ms",
            millis(timeout.clamp(Duration::from_secs(1), Duration::from_secs(30))),
        )
        .set("socket.keepalive.enable", "true")
        .set("socket.nagle.disable", "true")
        .set("reconnect.backoff.ms", "50")
        .set("reconnect.backoff.max.ms", "1000")
        .set("retry.backoff.ms", "50")
        .set("retry.backoff.max.ms", "500")
        // An unknown topic is reported as such before the record times out.
        .set("topic.metadata.propagation.max.ms", millis((timeout / 3).min(Duration::from_secs(2))))
        // A denied topic stays denied until the next metadata refresh.
        .set("topic.metadata.refresh.interval.ms", "10000")
        .set("linger.ms", format!("{}", settings.linger.as_secs_f64() * 1000.0))
        .set("compression.type", compression(settings.compression))
        .set("queue.buffering.max.messages", settings.queue.to_string())
        .set("queue.buffering.max.kbytes", "1048576")
        .set("message.max.bytes", settings.max_size.saturating_add(MAX_OVERHEAD).to_string())
        // Like Java's producers, so that a key stays on its partition.
        .set("partitioner", "murmur2_random");
    secure(&mut config, settings);
    config
}

fn secure(config: &mut ClientConfig, settings: &Settings) {
    let protocol = match (settings.tls, settings.credentials.is_some()) {
        (false, false) => "plaintext",
        (true, false) => "ssl",
        (false, true) => "sasl_plaintext",
        (true, true) => "sasl_ssl",
    };
    config.set("security.protocol", protocol);
    if settings.tls {
        let trusted = settings.ca_file.as_ref().map_or("probe".into(), |file| file.display().to_string());
        config.set("ssl.ca.location", trusted);
        config.set("ssl.endpoint.identification.algorithm", "https");
    }
    if let Some((certificate, key)) = &settings.certificate {
        config.set("ssl.certificate.location", certificate.display().to_string());
        config.set("ssl.key.location", key.display().to_string());
    }
    if let Some(credentials) = &settings.credentials {
        let mechanism = match credentials.mechanism {
            Mechanism::Plain => "PLAIN",
            Mechanism::ScramSha256 => "SCRAM-SHA-256",
            Mechanism::ScramSha512 => "SCRAM-SHA-512",
        };
        config.set("sasl.mechanisms", mechanism);
        config.set("sasl.username", &credentials.user);
        config.set("sasl.password", credentials.password.reveal());
    }
}

fn compression(compression: Compression) -> &'static str {
    match compression {
        Compression::None => "none",
        Compression::Gzip => "gzip",
        Compression::Snappy => "snappy",
        Compression::Lz4 => "lz4",
        Compression::Zstd => "zstd",
    }
}

fn millis(duration: Duration) -> String {
    duration.as_millis().to_string()
}
