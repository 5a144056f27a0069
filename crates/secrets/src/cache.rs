//! Cache of resolved secrets: one concurrent lookup per reference, limited in size, secrets wiped when evicted.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use postrider_seams::Secret;
use postrider_seams::secret::Error;
use tokio::time::Instant;

/// Maximum number of cached references.
const MAX_ENTRIES: usize = 1000;
/// How long an error is cached, so that a lane full of rows does not request the same missing secret for each row.
const ERROR_TTL: Duration = Duration::from_secs(5);

pub(crate) struct Cache {
    slots: Mutex<HashMap<Arc<str>, Arc<CacheSlot>>>,
    /// Lifetime of cached secrets, in milliseconds.
    ttl: AtomicU64,
}

/// Locked during a lookup; concurrent callers wait for the lock and find the result here.
type CacheSlot = tokio::sync::Mutex<Option<CachedResult>>;

struct CachedResult {
    result: Result<Secret, Error>,
    until: Instant,
}

impl Cache {
    /// Creates an empty cache whose secrets are valid for `ttl`.
    pub fn new(ttl: Duration) -> Self {
        let cache = Self { slots: Mutex::default(), ttl: AtomicU64::default() };
        cache.set_ttl(ttl);
        cache
    }

    /// Sets the lifetime of secrets that are looked up from now on; cached ones keep theirs.
    pub fn set_ttl(&self, ttl: Duration) {
        self.ttl.store(u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX), Relaxed);
    }

    /// Returns the cached secret or error, or calls `look_up` and caches its result. Errors are cached for up to 5
    /// seconds.
    pub async fn get<F>(&self, reference: &str, look_up: F) -> Result<Secret, Error>
    where
        F: AsyncFnOnce() -> Result<Secret, Error>,
    {
        let slot = self.slot(reference);
        let mut cached = slot.lock().await;
        if let Some(cached) = cached.as_ref().filter(|cached| Instant::now() < cached.until) {
            return cached.result.clone();
        }
        let result = look_up().await;
        let ttl = Duration::from_millis(self.ttl.load(Relaxed));
        let ttl = if result.is_ok() { ttl } else { ERROR_TTL.min(ttl) };
        *cached = Some(CachedResult { result: result.clone(), until: Instant::now() + ttl });
        result
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Arc<str>, Arc<CacheSlot>>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(&self, reference: &str) -> Arc<CacheSlot> {
        let mut slots = self.lock();
        if let Some(slot) = slots.get(reference) {
            return Arc::clone(slot);
        }
        if slots.len() >= MAX_ENTRIES {
            evict(&mut slots);
        }
        let slot = Arc::new(CacheSlot::default());
        slots.insert(reference.into(), Arc::clone(&slot));
        slot
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.lock().len()
    }
}

/// Removes expired entries; if there are none, the one that expires first.
fn evict(slots: &mut HashMap<Arc<str>, Arc<CacheSlot>>) {
    let now = Instant::now();
    let until =
        |slot: &CacheSlot| slot.try_lock().ok().and_then(|cached| cached.as_ref().map(|cached| cached.until));
    slots.retain(|_, slot| until(slot).is_none_or(|until| now < until));
    if slots.len() >= MAX_ENTRIES
        && let Some(first) = slots.iter().min_by_key(|(_, slot)| until(slot)).map(|(key, _)| Arc::clone(key))
    {
        slots.remove(&first);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn j11_an_answer_is_kept_for_its_time() {
        let cache = Cache::new(Duration::from_mins(5));
        let asked = AtomicU32::new(0);
        let look_up = async || Ok(Secret::new(asked.fetch_add(1, SeqCst).to_string()));
        assert_eq!(cache.get("a", look_up).await.unwrap().reveal(), "0");
        tokio::time::advance(Duration::from_secs(299)).await;
        assert_eq!(cache.get("a", look_up).await.unwrap().reveal(), "0");
        assert_eq!(cache.get("b", look_up).await.unwrap().reveal(), "1");
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(cache.get("a", look_up).await.unwrap().reveal(), "2");
    }

    #[tokio::test(start_paused = true)]
    async fn j11_a_failure_is_kept_for_seconds_only() {
        let cache = Cache::new(Duration::from_mins(5));
        let away = async || Err(Error::Unavailable("away".to_owned()));
        cache.get("a", away).await.unwrap_err();
        cache.get("a", async || Ok(Secret::new("x"))).await.unwrap_err();
        tokio::time::advance(ERROR_TTL).await;
        cache.get("a", async || Ok(Secret::new("x"))).await.unwrap();
    }

    #[tokio::test]
    async fn j11_concurrent_lookups_share_one_request() {
        let cache = Arc::new(Cache::new(Duration::from_mins(5)));
        let asked = Arc::new(AtomicU32::new(0));
        let tasks: Vec<_> = (0..100)
            .map(|_| {
                let (cache, asked) = (Arc::clone(&cache), Arc::clone(&asked));
                tokio::spawn(async move {
                    let look_up = async || {
                        tokio::task::yield_now().await;
                        asked.fetch_add(1, SeqCst);
                        Ok(Secret::new("x"))
                    };
                    cache.get("a", look_up).await.unwrap();
                })
            })
            .collect();
        for task in tasks {
            task.await.unwrap();
        }
        assert_eq!(asked.load(SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn j11_it_does_not_grow_without_end() {
        let cache = Cache::new(Duration::from_mins(5));
        for n in 0..MAX_ENTRIES + 50 {
            cache.get(&n.to_string(), async || Ok(Secret::new("x"))).await.unwrap();
        }
        assert_eq!(cache.len(), MAX_ENTRIES);
        tokio::time::advance(Duration::from_mins(6)).await;
        cache.get("new", async || Ok(Secret::new("x"))).await.unwrap();
        assert_eq!(cache.len(), 1);
    }
}
