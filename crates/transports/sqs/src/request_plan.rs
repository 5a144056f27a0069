//! Plans the requests of one queue: which records share a request, and in which order requests are sent.
//!
//! A wave is a set of requests that may be in flight together. In a FIFO queue a wave has at most one record of each
//! group; in other queues one wave has all records.

use std::collections::{HashMap, HashSet, VecDeque};

use crate::encode::BatchEntry;

#[cfg(test)]
mod tests;

/// Maximum number of entries of one request.
const MAX_ENTRIES: usize = 10;

/// The records of one queue that are not sent yet, by their place in the call.
#[derive(Debug)]
pub(crate) struct RequestPlan {
    rest: VecDeque<usize>,
    fifo: bool,
    max_size: usize,
}

/// The places of the records of one request, in order.
pub(crate) type RequestIndexes = Vec<usize>;

impl RequestPlan {
    pub(crate) fn new(rest: Vec<usize>, fifo: bool, max_size: usize) -> Self {
        Self { rest: rest.into(), fifo, max_size }
    }

    /// Returns the next wave; empty when all records are sent.
    pub(crate) fn wave(&mut self, entries: &HashMap<usize, BatchEntry>) -> Vec<RequestIndexes> {
        let mut groups = HashSet::new();
        let mut wave: Vec<RequestIndexes> = Vec::new();
        let mut size = 0;
        let mut later = VecDeque::new();
        while let Some(index) = self.rest.pop_front() {
            let entry = &entries[&index];
            if let (true, Some((group, _))) = (self.fifo, &entry.fifo)
                && !groups.insert(group.clone())
            {
                later.push_back(index);
                continue;
            }
            match wave.last_mut() {
                Some(request) if request.len() < MAX_ENTRIES && size + entry.size <= self.max_size => {
                    request.push(index);
                    size += entry.size;
                }
                _ => {
                    wave.push(vec![index]);
                    size = entry.size;
                }
            }
        }
        self.rest = later;
        wave
    }

    /// Removes the rest of a group, because the record before them failed.
    pub(crate) fn remove_group(&mut self, group: &str, entries: &HashMap<usize, BatchEntry>) -> Vec<usize> {
        let belongs = |index: &usize| entries[index].fifo.as_ref().is_some_and(|(name, _)| name == group);
        let held = self.rest.iter().copied().filter(|index| belongs(index)).collect();
        self.rest.retain(|index| !belongs(index));
        held
    }
}
