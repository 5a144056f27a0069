//! The exporter: sends spans to a collector, in batches, from a bounded queue.
//!
//! Invariant: callers never wait. If the queue is full or the collector does not answer, spans are dropped and counted;
//! the start and the end of an outage are logged once each.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use metrics::Counter;
use postrider_http::{
    Client, ClientSettings, Guard, HeaderMap, HeaderName, HeaderValue, HttpRequest, Method, RequestLimits,
    Target,
};
use tokio::sync::{mpsc, oneshot};
use tokio::time::Instant;

use crate::otlp::{self, Anchor};
use crate::settings::Settings;
use crate::span::Span;

/// Maximum number of queued spans (about 10 MB), and of settle calls that they come from.
const MAX_QUEUED_SPANS: usize = 16_384;
const MAX_QUEUED_CALLS: usize = 4096;
/// Maximum number of spans per request.
const MAX_BATCH: usize = 512;
/// How long the exporter waits for a batch to fill.
const LINGER: Duration = Duration::from_secs(1);
/// Delays between the tries to send a batch; after the last try its spans are dropped.
const RETRY_DELAYS: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(3)];
/// Maximum number of bytes read of the collector's answer.
const MAX_RESPONSE: usize = 16 * 1024;

enum QueueItem {
    Spans(Vec<Span>),
    /// Export all earlier spans now, then notify the sender.
    Flush(oneshot::Sender<()>),
}

/// The queue of spans to export; cheap to share.
pub struct Exporter {
    sender: mpsc::Sender<QueueItem>,
    /// Number of spans in the queue.
    queued: Arc<AtomicUsize>,
    dropped: Counter,
    pub(crate) ratio: f64,
}

impl Exporter {
    /// Starts the export task. The error says what is wrong with the settings.
    pub fn start(settings: Settings) -> Result<Arc<Self>, String> {
        // The operator chooses the collector, so every address is allowed.
        let client =
            ClientSettings { guard: Guard::allow_all(), connections: 2, ..ClientSettings::default() };
        let client = Client::new(&client)?;
        let target = Target::parse(&settings.url).map_err(|error| error.to_string())?;
        let headers = headers(&settings)?;
        let (sender, items) = mpsc::channel(MAX_QUEUED_CALLS);
        let ratio = settings.ratio;
        let queued = Arc::<AtomicUsize>::default();
        let task = ExportTask {
            queued: Arc::clone(&queued),
            client,
            target,
            headers,
            settings,
            anchor: Anchor::now(),
            exported: metrics::counter!("postrider_spans_exported_total"),
            dropped: metrics::counter!("postrider_spans_dropped_total", "reason" => "collector"),
            unavailable: false,
        };
        tokio::spawn(task.run(items));
        let dropped = metrics::counter!("postrider_spans_dropped_total", "reason" => "queue");
        Ok(Arc::new(Self { sender, queued, dropped, ratio }))
    }

    /// Queues spans without waiting. Spans that do not fit are dropped and counted.
    pub fn queue(&self, spans: Vec<Span>) {
        let count = spans.len();
        let fits = self.queued.fetch_add(count, Relaxed) + count <= MAX_QUEUED_SPANS;
        if !fits || self.sender.try_send(QueueItem::Spans(spans)).is_err() {
            self.queued.fetch_sub(count, Relaxed);
            self.dropped.increment(count as u64);
        }
    }

    /// Exports the queued spans at shutdown; returns when that is done, or after `limit`.
    pub async fn flush(&self, limit: Duration) {
        let (sender, done) = oneshot::channel();
        let flushed = async {
            if self.sender.send(QueueItem::Flush(sender)).await.is_ok() {
                let _ = done.await;
            }
        };
        let _ = tokio::time::timeout(limit, flushed).await;
    }
}

fn headers(settings: &Settings) -> Result<HeaderMap, String> {
    let mut headers = HeaderMap::new();
    headers.insert("content-type", HeaderValue::from_static("application/json"));
    for (name, value) in &settings.headers {
        let invalid = || format!("invalid HTTP header `{name}`");
        let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| invalid())?;
        value.set_sensitive(true);
        headers.insert(HeaderName::try_from(name.as_str()).map_err(|_| invalid())?, value);
    }
    Ok(headers)
}

struct ExportTask {
    queued: Arc<AtomicUsize>,
    client: Client,
    target: Target,
    headers: HeaderMap,
    settings: Settings,
    anchor: Anchor,
    exported: Counter,
    dropped: Counter,
    /// Whether the collector is unavailable, which was logged.
    unavailable: bool,
}

impl ExportTask {
    async fn run(mut self, mut items: mpsc::Receiver<QueueItem>) {
        let mut spans: Vec<Span> = Vec::new();
        loop {
            let Some(first) = items.recv().await else { return };
            let until = Instant::now() + LINGER;
            let mut flushed = Vec::new();
            let mut next = Some(first);
            while let Some(item) = next {
                match item {
                    QueueItem::Spans(more) => {
                        self.queued.fetch_sub(more.len(), Relaxed);
                        spans.extend(more);
                    }
                    QueueItem::Flush(sender) => flushed.push(sender),
                }
                let full = spans.len() >= MAX_BATCH || !flushed.is_empty();
                next = if full {
                    None
                } else {
                    tokio::time::timeout_at(until, items.recv()).await.ok().flatten()
                };
            }
            for batch in spans.chunks(MAX_BATCH) {
                self.export(batch, flushed.is_empty()).await;
            }
            spans.clear();
            for sender in flushed {
                // The caller may have stopped waiting.
                let _ = sender.send(());
            }
        }
    }

    async fn export(&mut self, spans: &[Span], may_retry: bool) {
        let body = otlp::encode(spans, &self.settings.resource, &self.anchor);
        let request = HttpRequest {
            method: Method::POST,
            target: self.target.clone(),
            headers: self.headers.clone(),
            body: body.into(),
        };
        let delays = if may_retry && !self.unavailable { RETRY_DELAYS.as_slice() } else { &[] };
        let mut result = self.send(&request).await;
        for delay in delays {
            let Err(ExportError { retryable: true, .. }) = &result else { break };
            tokio::time::sleep(*delay).await;
            result = self.send(&request).await;
        }
        match result {
            Ok(()) => {
                self.exported.increment(spans.len() as u64);
                if std::mem::take(&mut self.unavailable) {
                    tracing::info!(url = self.settings.url, "the collector accepts traces again");
                }
            }
            Err(error) => {
                self.dropped.increment(spans.len() as u64);
                if !std::mem::replace(&mut self.unavailable, true) {
                    tracing::warn!(
                        url = self.settings.url,
                        error = error.text,
                        "the collector does not accept traces; they are dropped and counted until it does"
                    );
                }
            }
        }
    }

    async fn send(&self, request: &HttpRequest) -> Result<(), ExportError> {
        match self.client.send(request, RequestLimits::within(self.settings.timeout, MAX_RESPONSE)).await {
            Ok(response) if response.is_success() => Ok(()),
            Ok(response) => {
                let retryable = matches!(response.status, 429 | 502..=504);
                Err(ExportError { retryable, text: format!("it answered {}", response.status) })
            }
            Err(error) => Err(ExportError { retryable: true, text: error.to_string() }),
        }
    }
}

struct ExportError {
    /// Whether a retry may succeed.
    retryable: bool,
    text: String,
}
