//! One NATS connection, from its start to its loss. A lost connection is never restored: a new one replaces it.
//!
//! The client library would reconnect automatically and send what it had queued, but not what it had written to the
//! broken connection: later records would overtake earlier ones. So each connection has its own runtime, which ends
//! with it, and with everything queued in it.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_nats::connection::State;
use async_nats::jetstream::Context;
use async_nats::jetstream::context::ContextBuilder;
use async_nats::{ConnectErrorKind, ConnectOptions};
use postrider_seams::is_caused_by_exhaustion;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout_at};

use crate::config::{Credentials, Settings};
use crate::error::ConnectError;
use crate::events::Events;

/// Ping interval. A peer that vanished without a reset is detected after three of these.
const PING_INTERVAL: Duration = Duration::from_millis(2500);
/// The library's request timeout, which is never reached: each request has its own deadline.
const REQUEST_TIMEOUT: Duration = Duration::from_hours(1);
/// The client library gives up an acknowledgement this much later than we do, and then frees the record's place among
/// those in flight.
const ACK_GRACE: Duration = Duration::from_secs(1);
/// Reconnect delay that is longer than a lost connection lives.
const NO_RECONNECT: Duration = Duration::from_hours(24);

/// One connection. It is never restored: a caller that finds it lost asks its [`SharedConnection`] for another.
pub struct Connection {
    pub context: Context,
    pub(crate) events: Arc<Events>,
    /// `None` only while it is being dropped.
    runtime: Option<Runtime>,
}

impl Connection {
    /// Connects to the first server that accepts us; the error is the last server's.
    pub(crate) async fn open(settings: &Settings, deadline: Instant) -> Result<Self, ConnectError> {
        let runtime = Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("nats")
            .enable_all()
            .build()
            .map_err(|error| ConnectError::Exhausted(format!("no thread for the connection: {error}")))?;
        // From here on, dropping this guard ends the runtime.
        let guard = RuntimeGuard(Some(runtime));
        let events = Arc::new(Events::default());
        let scheme = if settings.tls { "tls" } else { "nats" };
        let servers: Vec<String> =
            settings.servers.iter().map(|server| format!("{scheme}://{server}")).collect();
        let options = options(settings, Arc::clone(&events)).await?;
        let handle = guard.0.as_ref().expect("just put there").handle();
        let opening = handle.spawn(async move { options.connect(servers).await });
        let client = match timeout_at(deadline, opening).await {
            Ok(Ok(Ok(client))) => client,
            Ok(Ok(Err(error))) => return Err(connect_error(&error, settings)),
            Ok(Err(error)) => std::panic::resume_unwind(error.into_panic()),
            Err(_) => {
                return Err(ConnectError::Unreachable(format!(
                    "{} does not answer in time",
                    settings.target()
                )));
            }
        };
        // This starts a task, which belongs to the connection.
        let context = {
            let _entered = handle.enter();
            context(settings, client)
        };
        Ok(Self { context, events, runtime: guard.disarm() })
    }

    /// Whether the connection is lost.
    pub fn is_lost(&self) -> bool {
        self.events.is_lost() || self.context.client().connection_state() != State::Connected
    }
}

/// The link to one NATS system: one connection at a time, opened when it is needed.
pub struct SharedConnection {
    pub(crate) settings: Settings,
    current: Mutex<Option<Arc<Connection>>>,
}

impl SharedConnection {
    pub(crate) fn new(settings: Settings) -> Self {
        Self { settings, current: Mutex::default() }
    }

    /// Returns the current connection; opens a new one if the last was lost.
    pub async fn get(&self, deadline: Instant) -> Result<Arc<Connection>, ConnectError> {
        // Under the lock, so that concurrent callers open one connection.
        let Ok(mut current) = timeout_at(deadline, self.current.lock()).await else {
            return Err(ConnectError::Unreachable(format!(
                "no connection to {} in time",
                self.settings.target()
            )));
        };
        if let Some(connection) = current.as_ref().filter(|connection| !connection.is_lost()) {
            return Ok(Arc::clone(connection));
        }
        *current = None;
        let until = deadline.min(Instant::now() + self.settings.connect_timeout);
        let connection = Arc::new(Connection::open(&self.settings, until).await?);
        *current = Some(Arc::clone(&connection));
        Ok(connection)
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        drop(RuntimeGuard(self.runtime.take()));
    }
}

/// Ends a runtime without waiting, because waiting is forbidden in a task of another runtime.
struct RuntimeGuard(Option<Runtime>);

impl RuntimeGuard {
    fn disarm(mut self) -> Option<Runtime> {
        self.0.take()
    }
}

impl Drop for RuntimeGuard {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

fn context(settings: &Settings, client: async_nats::Client) -> Context {
    let builder = ContextBuilder::new();
    let builder = match &settings.domain {
        Some(domain) => builder.domain(domain).timeout(REQUEST_TIMEOUT),
        None => builder.timeout(REQUEST_TIMEOUT),
    };
    builder
        .ack_timeout(settings.ack_timeout + ACK_GRACE)
        .max_ack_inflight(settings.batch * settings.concurrency * 2)
        .backpressure_on_inflight(true)
        .build(client)
}

fn connect_error(error: &async_nats::ConnectError, settings: &Settings) -> ConnectError {
    use std::error::Error as _;
    let target = settings.target();
    let mut text = error.to_string();
    // Some errors already include their cause.
    if let Some(cause) = error.source().map(ToString::to_string).filter(|cause| !text.contains(cause)) {
        text = format!("{text}: {cause}");
    }
    match error.kind() {
        ConnectErrorKind::AuthorizationViolation | ConnectErrorKind::Authentication => {
            ConnectError::Refused(format!("{target} refuses us: {text}"))
        }
        ConnectErrorKind::Tls => ConnectError::Refused(format!(
            "{target}: {text}: fix the server's certificate, or name its authority in ca_file"
        )),
        _ if is_caused_by_exhaustion(error) => ConnectError::Exhausted(format!("{target}: {text}")),
        _ => ConnectError::Unreachable(format!("{target}: {text}")),
    }
}

async fn options(settings: &Settings, events: Arc<Events>) -> Result<ConnectOptions, ConnectError> {
    let connected = Arc::new(AtomicBool::new(false));
    let was_connected = Arc::clone(&connected);
    let mut options = ConnectOptions::new()
        .name(&settings.name)
        .connection_timeout(settings.connect_timeout)
        .ping_interval(PING_INTERVAL)
        .require_tls(settings.tls)
        .reconnect_delay_callback(move |_| {
            if was_connected.load(Ordering::Acquire) { NO_RECONNECT } else { Duration::ZERO }
        })
        .event_callback(move |event| {
            if matches!(event, async_nats::Event::Connected) {
                connected.store(true, Ordering::Release);
            }
            events.record(&event);
            async {}
        });
    if let Some(file) = &settings.ca_file {
        options = options.add_root_certificates(file.clone());
    }
    if let Some((certificate, key)) = &settings.certificate {
        options = options.add_client_certificate(certificate.clone(), key.clone());
    }
    Ok(match &settings.credentials {
        None => options,
        Some(Credentials::Password { user, password }) => {
            options.user_and_password(user.clone(), password.reveal().to_owned())
        }
        Some(Credentials::Token(token)) => options.token(token.reveal().to_owned()),
        Some(Credentials::Nkey(seed)) => options.nkey(seed.reveal().to_owned()),
        Some(Credentials::File(file)) => options.credentials_file(file).await.map_err(|error| {
            ConnectError::Refused(format!("credentials_file {}: {error}", file.display()))
        })?,
    })
}
