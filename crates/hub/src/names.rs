//! Where the names in targets lead, asked when a target is named, so that one that leads to a private address is refused at
//! once. Invariant: it only ever refuses. A name that leads nowhere now may do so later, and whatever it says here, the
//! address that is dialled is judged again.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::future::join_all;
use postrider_http::{Guard, Resolve};
use tokio::time::timeout;
use url::{Host, Url};

/// A caller does not wait longer for its answer because a name server does not answer.
const WAIT: Duration = Duration::from_secs(1);
/// How long an answer is believed.
const KEPT: Duration = Duration::from_secs(30);
/// Answers that are kept.
const MOST: usize = 10_000;

/// A name, and whether it would be spoken to over TLS.
type Asked = (String, bool);

/// Why a name may not be sent to, if it may not.
#[derive(Debug, Clone, Copy)]
struct Verdict(Option<&'static str>);

pub(crate) struct Names {
    resolver: Arc<dyn Resolve>,
    known: Mutex<HashMap<Asked, (Instant, Verdict)>>,
}

impl Names {
    pub fn new(resolver: Arc<dyn Resolve>) -> Self {
        Self { resolver, known: Mutex::default() }
    }

    /// The URLs among these whose name leads only to addresses that the guard refuses, and why.
    pub async fn refused(&self, guard: &Guard, urls: BTreeSet<&str>) -> BTreeMap<String, String> {
        let named: Vec<(&str, Asked, u16)> = urls.into_iter().filter_map(named).collect();
        let asked: BTreeMap<&Asked, u16> = named.iter().map(|(_, asked, port)| (asked, *port)).collect();
        let looks = asked.into_iter().map(async |(asked, port)| (asked, self.why(guard, asked, port).await));
        let found: BTreeMap<&Asked, Option<&str>> = join_all(looks).await.into_iter().collect();
        let refused = named.iter().filter_map(|(url, asked, _)| {
            let why = (*found.get(asked)?)?;
            Some(((*url).to_owned(), format!("may not be sent to: {} leads to {why}", asked.0)))
        });
        refused.collect()
    }

    async fn why(&self, guard: &Guard, asked: &Asked, port: u16) -> Option<&'static str> {
        if let Some(Verdict(why)) = self.known(asked) {
            return why;
        }
        let (host, secure) = asked;
        let why = match timeout(WAIT, self.resolver.resolve(host, port)).await {
            Ok(Ok(addresses)) => {
                let refusals: Option<Vec<&str>> =
                    addresses.iter().map(|address| guard.refuses(address.ip(), *secure)).collect();
                refusals.and_then(|refusals| refusals.first().copied())
            }
            Ok(Err(_)) | Err(_) => None,
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if known.len() >= MOST {
            known.clear();
        }
        known.insert(asked.clone(), (Instant::now(), Verdict(why)));
        why
    }

    fn known(&self, asked: &Asked) -> Option<Verdict> {
        let known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known.get(asked).filter(|(at, _)| at.elapsed() < KEPT).map(|(_, verdict)| *verdict)
    }
}

/// A URL with a name in it; an address was judged already.
fn named(text: &str) -> Option<(&str, Asked, u16)> {
    let url = Url::parse(text).ok()?;
    let Some(Host::Domain(host)) = url.host() else { return None };
    Some((text, (host.to_owned(), url.scheme() == "https"), url.port_or_known_default()?))
}
