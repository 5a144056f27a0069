//! The HTTP client and the credentials of the AWS SDKs, for everything here that calls AWS.
//!
//! Owns: TLS, when pooled connections are dropped, the configuration of clients, and the registration of credentials
//! as secrets. Must not: know a service. Invariant: after a request that got no answer in time, no connection from
//! that time is used again. If a peer became unreachable, all its connections are dead, and each would cost one more
//! timeout.

mod client_config;
mod credentials;

use std::error::Error as _;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use aws_smithy_http_client::{Builder, tls};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::HttpRequest;
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use hyper_util::client::legacy;

pub use client_config::ClientConfig;
pub use credentials::{RegisteringProvider, register_credentials};

/// Time after which an idle connection is closed. AWS closes them too, and the SDK's connector has no TCP keepalive to
/// detect that.
const IDLE_TIMEOUT: Duration = Duration::from_secs(20);

/// Creates a client with its own connection pool.
pub fn http_client() -> SharedHttpClient {
    renewable_client(|| {
        Builder::new()
            .tls_provider(tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring))
            .pool_idle_timeout(IDLE_TIMEOUT)
            .build_https()
    })
}

fn renewable_client(make: impl Fn() -> SharedHttpClient + Send + Sync + 'static) -> SharedHttpClient {
    let current = Mutex::new(ClientGeneration { generation: 0, client: make() });
    SharedHttpClient::new(RenewableClient(Arc::new(SharedClient { make: Box::new(make), current })))
}

#[derive(Debug)]
struct RenewableClient(Arc<SharedClient>);

struct SharedClient {
    make: Box<dyn Fn() -> SharedHttpClient + Send + Sync>,
    current: Mutex<ClientGeneration>,
}

struct ClientGeneration {
    generation: u64,
    client: SharedHttpClient,
}

impl SharedClient {
    fn current(&self) -> MutexGuard<'_, ClientGeneration> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Drops the connections of this generation. Requests in flight keep theirs.
    fn renew(&self, generation: u64) {
        let mut current = self.current();
        // Other requests that timed out must not drop connections that were opened since.
        if current.generation == generation {
            *current = ClientGeneration { generation: generation + 1, client: (self.make)() };
        }
    }
}

impl fmt::Debug for SharedClient {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl HttpClient for RenewableClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        let current = self.0.current();
        let inner = current.client.http_connector(settings, components);
        SharedHttpConnector::new(TimeoutDetector {
            inner,
            generation: current.generation,
            shared: Arc::clone(&self.0),
        })
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.0.current().client.connector_metadata()
    }
}

/// Detects requests that get no answer.
#[derive(Debug)]
struct TimeoutDetector {
    inner: SharedHttpConnector,
    generation: u64,
    shared: Arc<SharedClient>,
}

impl HttpConnector for TimeoutDetector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let answer = self.inner.call(request);
        let pending =
            PendingRequest { shared: Arc::clone(&self.shared), generation: self.generation, answered: false };
        HttpConnectorFuture::new(async move {
            // Move the whole value: the block would capture only the field it names, and drop the rest before it runs.
            let mut pending = pending;
            let answer = answer.await;
            pending.answered = !answer.as_ref().is_err_and(ConnectorError::is_timeout);
            answer
        })
    }
}

/// A request in flight; the SDK drops it when its time is up.
struct PendingRequest {
    shared: Arc<SharedClient>,
    generation: u64,
    answered: bool,
}

impl Drop for PendingRequest {
    fn drop(&mut self) {
        if !self.answered {
            self.shared.renew(self.generation);
        }
    }
}

/// Whether the connection closed during the request, so that the service may have received it.
/// False if there was no connection: refused, or an unknown name.
pub fn is_connection_lost(error: &ConnectorError) -> bool {
    // The connector's marker of a response that broke off.
    let broke_off = error.as_other().is_some();
    let mut source = error.source();
    while let Some(cause) = source {
        if cause.downcast_ref::<legacy::Error>().is_some_and(legacy::Error::is_connect) {
            return false;
        }
        source = cause.source();
    }
    broke_off || error.is_io()
}
