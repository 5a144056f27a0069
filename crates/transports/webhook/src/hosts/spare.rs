//! Slots beyond those that hosts have earned, for requests that overtake slow ones.
//!
//! Invariant: however many hosts hang, spare slots stay a small part of what the transport sends at once, and one
//! client's a small part of these.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::line::Client;

/// One part of all requests at once that may be spare; one part of these may be one client's.
const PART: usize = 4;

pub(super) struct Spare {
    total: usize,
    used: Mutex<HashMap<Client, usize>>,
}

/// A spare slot; given back when dropped.
pub(super) struct SpareSlot {
    spare: Arc<Spare>,
    client: Client,
}

impl Spare {
    /// `concurrency`: requests at once to all hosts together.
    pub fn new(concurrency: usize) -> Arc<Self> {
        Arc::new(Self { total: concurrency.div_ceil(PART), used: Mutex::default() })
    }

    pub fn take(self: &Arc<Self>, client: &Client) -> Option<SpareSlot> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let own = used.get(client).copied().unwrap_or(0);
        if used.values().sum::<usize>() >= self.total || own >= self.total.div_ceil(PART) {
            return None;
        }
        used.insert(client.clone(), own + 1);
        Some(SpareSlot { spare: Arc::clone(self), client: client.clone() })
    }
}

impl Drop for SpareSlot {
    fn drop(&mut self) {
        let mut used = self.spare.used.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(own) = used.get_mut(&self.client) {
            *own -= 1;
            if *own == 0 {
                used.remove(&self.client);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_client_gets_a_part_of_the_spare_slots_only() {
        let spare = Spare::new(64);
        let clients: Vec<Client> = (0..5).map(|n| Some(format!("client{n}").into())).collect();
        let taken: Vec<Vec<SpareSlot>> =
            clients.iter().map(|client| std::iter::from_fn(|| spare.take(client)).collect()).collect();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4, 4, 0]);
        drop(taken);
        assert!(spare.take(&clients[4]).is_some(), "what is dropped comes back");
    }
}
