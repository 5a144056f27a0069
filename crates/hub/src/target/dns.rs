//! Name resolution of target hosts when a target is set, so that targets with private addresses are refused early.
//!
//! Invariant: it can only refuse. A name that does not resolve now is accepted, and the address that is dialled later
//! is checked again. Lookups are shared fairly among clients, like those of deliveries.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use postrider_http::{Guard, Lookups, Resolve, Unresolved};
use url::{Host, Url};

/// Time limit of a lookup, so that an unresponsive name server does not delay the caller.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(1);
/// How long a result is cached.
const CACHE_TTL: Duration = Duration::from_secs(30);
/// Maximum number of cached results.
const CACHE_SIZE: usize = 10_000;

/// A host name, and whether the target uses TLS.
type HostAndScheme = (String, bool);

/// The reason why a host must not be dialled; `None` if it may.
#[derive(Debug, Clone, Copy)]
struct Refusal(Option<&'static str>);

pub(crate) struct TargetDns {
    lookups: Lookups,
    cache: Mutex<HashMap<HostAndScheme, (Instant, Refusal)>>,
}

impl TargetDns {
    /// Creates an empty cache over this resolver.
    pub fn new(resolver: Arc<dyn Resolve>) -> Self {
        Self { lookups: Lookups::new(resolver, LOOKUP_TIMEOUT), cache: Mutex::default() }
    }

    /// Returns the URLs whose host resolves only to refused addresses, each with the reason.
    ///
    /// Every URL comes with the client that its lookup is counted for.
    pub async fn refused(
        &self,
        guard: &Guard,
        urls: BTreeMap<&str, Option<&str>>,
    ) -> BTreeMap<String, String> {
        let clients = &urls;
        let named: Vec<(&str, HostAndScheme, u16)> = urls.keys().filter_map(|url| host_of(url)).collect();
        let host: BTreeMap<&HostAndScheme, (u16, Option<&str>)> =
            named.iter().map(|(url, host, port)| (host, (*port, clients[url]))).collect();
        let lookups = host
            .into_iter()
            .map(async |(host, (port, client))| (host, self.refusal(guard, client, host, port).await));
        let found: BTreeMap<&HostAndScheme, Option<&str>> = join_all(lookups).await.into_iter().collect();
        let refused = named.iter().filter_map(|(url, host, _)| {
            let why = (*found.get(host)?)?;
            Some(((*url).to_owned(), format!("is not an allowed target: {} resolves to {why}", host.0)))
        });
        refused.collect()
    }

    async fn refusal(
        &self,
        guard: &Guard,
        client: Option<&str>,
        host: &HostAndScheme,
        port: u16,
    ) -> Option<&'static str> {
        if let Some(Refusal(why)) = self.cached(host) {
            return why;
        }
        let (name, secure) = host;
        let why = match self.lookups.addresses(client, name, port).await {
            Ok(addresses) => {
                let refusals: Option<Vec<&str>> =
                    addresses.iter().map(|address| guard.refuses(address.ip(), *secure)).collect();
                refusals.and_then(|refusals| refusals.first().copied())
            }
            // No lookup was made, so there is no result to cache.
            Err(Unresolved::Busy) => return None,
            Err(Unresolved::TimedOut | Unresolved::Failed(_)) => None,
        };
        let mut cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if cache.len() >= CACHE_SIZE {
            cache.clear();
        }
        cache.insert(host.clone(), (Instant::now(), Refusal(why)));
        why
    }

    fn cached(&self, host: &HostAndScheme) -> Option<Refusal> {
        let cache = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        cache.get(host).filter(|(at, _)| at.elapsed() < CACHE_TTL).map(|(_, refusal)| *refusal)
    }
}

/// Returns the host name and port of a URL; `None` if its host is an address, which is checked elsewhere.
fn host_of(text: &str) -> Option<(&str, HostAndScheme, u16)> {
    let url = Url::parse(text).ok()?;
    let Some(Host::Domain(host)) = url.host() else { return None };
    Some((text, (host.to_owned(), url.scheme() == "https"), url.port_or_known_default()?))
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::net::SocketAddr;

    use async_trait::async_trait;

    use super::*;

    /// A resolver that never answers for `hang…` and returns this machine's address for everything else.
    struct Hanging;

    #[async_trait]
    impl Resolve for Hanging {
        async fn resolve(&self, host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
            if host.starts_with("hang") {
                std::future::pending::<()>().await;
            }
            Ok(vec![SocketAddr::from(([127, 0, 0, 1], port))])
        }
    }

    #[tokio::test(start_paused = true)]
    async fn slow_lookups_of_one_client_do_not_delay_others() {
        let names = Arc::new(TargetDns::new(Arc::new(Hanging)));
        let hanging: Vec<String> = (0..1000).map(|n| format!("https://hang{n}.example/")).collect();
        let other = Arc::clone(&names);
        let many = tokio::spawn(async move {
            let urls = hanging.iter().map(|url| (url.as_str(), Some("a"))).collect();
            other.refused(&Guard::default(), urls).await
        });
        tokio::task::yield_now().await;
        let start = tokio::time::Instant::now();
        let urls = [("https://inside.example/", Some("b"))].into();
        let refused = names.refused(&Guard::default(), urls).await;
        assert_eq!(refused.len(), 1, "{refused:?}");
        assert!(start.elapsed() < Duration::from_millis(100), "{:?}", start.elapsed());
        assert!(many.await.expect("an answer").is_empty());
        assert!(
            start.elapsed() <= 2 * LOOKUP_TIMEOUT,
            "a caller waits no longer than this: {:?}",
            start.elapsed()
        );
    }
}
