//! Builds every transport except `reliable:` groups from its URL and options, and validates these without connecting.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use postrider_seams::Transport;
use postrider_target_options::OptionMistake;
use postrider_transport_file::{FileTransport, Settings};
use postrider_transport_smtp::Smtp;
use postrider_transport_webhook::Webhooks;

use super::TransportKind;
use super::optional::{amqp, kafka, nats, provider, sqs};
use super::scrubbed::Scrubbed;
use crate::descriptors;
use crate::settings::TransportSettings;

/// Builds a transport without connecting; the error continues a sentence after the transport's name.
pub(super) fn connect_transport(
    transport: &TransportSettings,
    base: &Path,
    publish: Duration,
) -> Result<Arc<dyn Transport>, String> {
    let (url, options) = (transport.url.reveal(), transport.options());
    match transport.kind {
        TransportKind::Smtp => scrubbed_transport(Smtp::from_url(url)),
        TransportKind::Folder => {
            scrubbed_transport(FileTransport::new(Settings::new(base.join(folder_name(url)))))
        }
        TransportKind::Kafka => kafka::transport(url, &options, publish),
        TransportKind::Nats => nats::transport(url, &options, publish),
        TransportKind::Amqp => amqp::transport(url, &options, publish),
        TransportKind::Sqs => sqs::transport(url, &options, publish),
        TransportKind::Provider => provider::transport(url, &options, publish),
        TransportKind::Reliable => Err("is a group of senders, not a sender itself".to_owned()),
        TransportKind::Webhook => {
            let settings = postrider_transport_webhook::Settings::from_url(url, &options);
            scrubbed_transport(settings.map(descriptors::for_webhooks).and_then(Webhooks::new))
        }
    }
}

pub(super) fn scrubbed_transport<T: Transport + 'static>(
    transport: Result<T, impl std::fmt::Display>,
) -> Result<Arc<dyn Transport>, String> {
    let transport = transport.map_err(|error| error.to_string())?;
    Ok(Arc::new(Scrubbed(Arc::new(transport))))
}

/// Lists every mistake in a transport's URL and options, without building or connecting anything.
pub fn transport_mistakes(transport: &TransportSettings) -> Vec<OptionMistake> {
    let (url, options) = (transport.url.reveal(), transport.options());
    let error = match transport.kind {
        TransportKind::Smtp => postrider_transport_smtp::Settings::from_url(url).err(),
        TransportKind::Folder => return folder_mistakes(url),
        TransportKind::Kafka => kafka::check(url, &options).err(),
        TransportKind::Nats => nats::check(url, &options).err(),
        TransportKind::Amqp => amqp::check(url, &options).err(),
        TransportKind::Sqs => sqs::check(url, &options).err(),
        TransportKind::Provider => provider::check(url, &options).err(),
        TransportKind::Reliable if url == "reliable:" => None,
        TransportKind::Reliable => {
            let text = "must be just \"reliable:\"; its options are senders, rates, waits, jitter, cool_down and patience";
            return vec![text.into()];
        }
        TransportKind::Webhook => postrider_transport_webhook::Settings::from_url(url, &options).err(),
    };
    error.map(|error| error.mistakes).unwrap_or_default()
}

fn folder_mistakes(url: &str) -> Vec<OptionMistake> {
    let name = folder_name(url);
    if name.is_empty() {
        return vec!["names no folder: use for example \"file:outbox\"".into()];
    }
    if name.contains('?') {
        return vec!["is a folder, which has no ?options: use for example \"file:outbox\"".into()];
    }
    Vec::new()
}

/// The folder of `file:outbox` or `file:///var/outbox`.
fn folder_name(url: &str) -> &str {
    let name = url.strip_prefix("file:").unwrap_or(url);
    name.strip_prefix("//").unwrap_or(name)
}
