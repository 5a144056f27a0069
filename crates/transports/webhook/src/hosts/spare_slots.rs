//! Spare slots beyond a client's own, for requests that overtake slow ones.
//!
//! Invariant: however many hosts hang, spare slots stay a small part of the transport's concurrency, and those of one
//! client a small part of these.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::wait_queue::ClientKey;

/// Divisor of the concurrency that may be spare, and of the spare slots that one client may use.
const SHARE_DIVISOR: usize = 4;

pub(super) struct SpareSlots {
    total: usize,
    used: Mutex<HashMap<ClientKey, usize>>,
}

/// A spare slot; released when dropped.
pub(super) struct SpareSlot {
    spare: Arc<SpareSlots>,
    client: ClientKey,
}

impl SpareSlots {
    /// Creates the spare slots. `concurrency` limits concurrent requests over all hosts.
    pub fn new(concurrency: usize) -> Arc<Self> {
        Arc::new(Self { total: concurrency.div_ceil(SHARE_DIVISOR), used: Mutex::default() })
    }

    /// Takes a spare slot for this client, `None` if all or its own part are in use.
    pub fn take(self: &Arc<Self>, client: &ClientKey) -> Option<SpareSlot> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let own = used.get(client).copied().unwrap_or(0);
        if used.values().sum::<usize>() >= self.total || own >= self.total.div_ceil(SHARE_DIVISOR) {
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
        let spare = SpareSlots::new(64);
        let clients: Vec<ClientKey> = (0..5).map(|n| Some(format!("client{n}").into())).collect();
        let taken: Vec<Vec<SpareSlot>> =
            clients.iter().map(|client| std::iter::from_fn(|| spare.take(client)).collect()).collect();
        assert_eq!(taken.iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 4, 4, 0]);
        drop(taken);
        assert!(spare.take(&clients[4]).is_some(), "what is dropped comes back");
    }
}
