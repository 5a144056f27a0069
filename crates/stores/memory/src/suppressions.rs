//! The suppression list in memory.

use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use async_trait::async_trait;
use postrider_seams::store::{Class, Error};
use postrider_seams::{Suppression, Suppressions};

/// A suppression list for tests.
#[derive(Debug, Default)]
pub struct MemorySuppressions {
    entries: Mutex<BTreeMap<String, String>>,
    broken: AtomicBool,
}

impl MemorySuppressions {
    /// Makes every call fail from now on, or succeed again.
    pub fn set_failing(&self, broken: bool) {
        self.broken.store(broken, Relaxed);
    }

    fn entries(&self) -> Result<std::sync::MutexGuard<'_, BTreeMap<String, String>>, Error> {
        if self.broken.load(Relaxed) {
            return Err(Error::new(Class::Transient, "the list in memory fails as the test requested"));
        }
        Ok(self.entries.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[async_trait]
impl Suppressions for MemorySuppressions {
    async fn find(&self, entries: &[String]) -> Result<Option<BTreeMap<String, String>>, Error> {
        let known = self.entries()?;
        let found = entries.iter().filter_map(|entry| known.get_key_value(entry));
        Ok(Some(found.map(|(entry, reason)| (entry.clone(), reason.clone())).collect()))
    }

    async fn add(&self, entry: &str, reason: &str) -> Result<bool, Error> {
        let mut known = self.entries()?;
        let new = !known.contains_key(entry);
        known.entry(entry.to_owned()).or_insert_with(|| reason.to_owned());
        Ok(new)
    }

    async fn remove(&self, entry: &str) -> Result<bool, Error> {
        Ok(self.entries()?.remove(entry).is_some())
    }

    async fn page(&self, after: Option<&str>, limit: u32) -> Result<Vec<Suppression>, Error> {
        let known = self.entries()?;
        let start = after.map_or(Bound::Unbounded, Bound::Excluded);
        let page = known.range::<str, _>((start, Bound::Unbounded)).take(limit as usize);
        let one = |(entry, reason): (&String, &String)| Suppression {
            entry: entry.clone(),
            reason: reason.clone(),
            since: String::new(),
        };
        Ok(page.map(one).collect())
    }
}
