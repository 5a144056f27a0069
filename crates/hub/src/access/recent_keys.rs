//! The API keys that were looked up within the last second, so that a busy client does not cost a query per request.
//!
//! Invariant: a key that this process revokes is refused at once; one that another process revokes, or that expires, is
//! refused after [`VALID_FOR`] at the latest. Only hashes of keys are kept.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::Actor;

/// The time for which a lookup is used.
pub const VALID_FOR: Duration = Duration::from_secs(1);
/// Maximum number of kept keys.
const MOST: usize = 1000;

/// The keys that were looked up lately.
#[derive(Debug, Default)]
pub struct RecentKeys(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    by_hash: HashMap<String, (Instant, Actor)>,
    /// The number of revocations so far: a lookup that began before one is not kept.
    revocations: u64,
}

/// A lookup that has begun.
#[derive(Debug, Clone, Copy)]
pub struct Lookup {
    began: Instant,
    revocations: u64,
}

impl RecentKeys {
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the actor of a key that was looked up lately, by the key's hash.
    pub fn find(&self, hash: &str) -> Option<Actor> {
        let kept = self.kept();
        kept.by_hash
            .get(hash)
            .filter(|(began, _)| began.elapsed() < VALID_FOR)
            .map(|(_, actor)| actor.clone())
    }

    /// Begins a lookup: to be called before the query.
    pub fn begin(&self) -> Lookup {
        Lookup { began: Instant::now(), revocations: self.kept().revocations }
    }

    /// Keeps the result of a lookup, unless a key was revoked meanwhile.
    pub fn keep(&self, lookup: Lookup, hash: String, actor: &Actor) {
        let mut kept = self.kept();
        if kept.revocations != lookup.revocations {
            return;
        }
        if kept.by_hash.len() >= MOST {
            kept.by_hash.retain(|_, (began, _)| began.elapsed() < VALID_FOR);
        }
        if kept.by_hash.len() < MOST {
            kept.by_hash.insert(hash, (lookup.began, actor.clone()));
        }
    }

    /// Forgets every key: one was revoked.
    pub fn forget_all(&self) {
        let mut kept = self.kept();
        kept.revocations += 1;
        kept.by_hash.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lookup_counts_until_a_key_is_revoked_or_for_a_second() {
        let (keys, actor) = (RecentKeys::default(), Actor::command_line());
        keys.keep(keys.begin(), "a".to_owned(), &actor);
        assert_eq!(keys.find("a"), Some(actor.clone()));
        assert_eq!(keys.find("b"), None);
        let during = keys.begin();
        keys.forget_all();
        assert_eq!(keys.find("a"), None);
        keys.keep(during, "a".to_owned(), &actor);
        assert_eq!(keys.find("a"), None, "the query may have run before the revocation");
        let long_ago = Lookup { began: Instant::now().checked_sub(VALID_FOR).unwrap(), ..keys.begin() };
        keys.keep(long_ago, "a".to_owned(), &actor);
        assert_eq!(keys.find("a"), None, "too old");
    }

    #[test]
    fn the_number_of_keys_is_bounded() {
        let keys = RecentKeys::default();
        for number in 0..2 * MOST {
            keys.keep(keys.begin(), number.to_string(), &Actor::command_line());
        }
        assert_eq!(keys.kept().by_hash.len(), MOST);
    }
}
