//! The entries of a batch, unparsed.
//!
//! Invariant: at most [`MAX_ENTRIES`] entries are kept. A body of 32 MB may list 16 million zeros, and each kept entry
//! costs more than its text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

use super::Problem;

/// Maximum entries of a batch.
pub const MAX_ENTRIES: usize = 1000;

/// The entries of a list, the first ones of which are kept.
#[derive(Debug)]
pub struct RawEntries {
    kept: Vec<Box<RawValue>>,
    count: usize,
}

impl RawEntries {
    /// Returns the entries; an error of this field if there are none, or too many.
    pub fn sized(self, field: &str) -> Result<Vec<Box<RawValue>>, Problem> {
        let fits = (1..=MAX_ENTRIES).contains(&self.count);
        let text = || format!("must have 1 to {MAX_ENTRIES} entries");
        if fits { Ok(self.kept) } else { Err(Problem::invalid(field, text())) }
    }
}

impl<'de> Deserialize<'de> for RawEntries {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_seq(EntriesVisitor)
    }
}

struct EntriesVisitor;

impl<'de> Visitor<'de> for EntriesVisitor {
    type Value = RawEntries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<RawEntries, A::Error> {
        let mut kept = Vec::new();
        while kept.len() < MAX_ENTRIES
            && let Some(entry) = list.next_element()?
        {
            kept.push(entry);
        }
        let mut count = kept.len();
        // The rest is only read: the whole body must be JSON.
        while count >= MAX_ENTRIES && list.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        Ok(RawEntries { kept, count })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::body::read_as;
    use crate::api::body_mistakes::BodySchema;

    fn read(entries: usize) -> RawEntries {
        read_as(format!("[{}]", vec!["0"; entries].join(",")).as_bytes(), BodySchema::any)
            .expect("it is a list")
    }

    #[test]
    fn at_most_a_batch_is_kept_and_all_is_counted() {
        for (entries, kept) in [(0, 0), (1, 1), (999, 999), (1000, 1000), (1001, 1000), (5000, 1000)] {
            let read = read(entries);
            assert_eq!((read.count, read.kept.len()), (entries, kept));
            assert_eq!(read.sized("jobs").is_ok(), (1..=1000).contains(&entries), "{entries}");
        }
    }

    #[test]
    fn what_follows_the_kept_entries_must_be_json() {
        let text = format!("[{},}}]", vec!["0"; 2000].join(","));
        assert_eq!(read_as::<RawEntries>(text.as_bytes(), BodySchema::any).unwrap_err().status(), 400);
    }
}
