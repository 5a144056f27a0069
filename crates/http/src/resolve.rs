//! Resolves names to addresses.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::Semaphore;

/// Maximum number of running lookups. One that hangs keeps a thread long after its caller gave up.
const MAX_LOOKUPS: usize = 128;

/// Resolves the addresses of a name. Cancel-safe.
#[async_trait]
pub trait Resolve: Send + Sync {
    /// Returns the addresses of a host, with this port.
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>>;
}

/// The operating system's resolver: `/etc/hosts`, DNS, and whatever else the machine is configured for.
#[derive(Debug)]
pub struct SystemResolver {
    lookups: Arc<Semaphore>,
}

impl Default for SystemResolver {
    fn default() -> Self {
        Self { lookups: Arc::new(Semaphore::new(MAX_LOOKUPS)) }
    }
}

#[async_trait]
impl Resolve for SystemResolver {
    async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
        let permit = Arc::clone(&self.lookups).acquire_owned().await.map_err(io::Error::other)?;
        let host = host.to_owned();
        let lookup = move || {
            let found = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
            drop(permit);
            found
        };
        let cancelled = |error| io::Error::new(io::ErrorKind::Interrupted, error);
        tokio::task::spawn_blocking(lookup).await.map_err(cancelled)?
    }
}
