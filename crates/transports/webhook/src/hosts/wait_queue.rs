//! The queue of deliveries that wait for a slot of one host: round-robin over clients.
//!
//! Pure. Invariant: a client is in the round exactly while one of its deliveries waits.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The client whose deliveries are queued together; all jobs without a client count as one client.
pub(super) type ClientKey = Option<Arc<str>>;

#[derive(Debug)]
pub(super) struct WaitQueue<T> {
    waiting: HashMap<ClientKey, VecDeque<(u64, T)>>,
    rotation: VecDeque<ClientKey>,
    last_ticket: u64,
}

impl<T> Default for WaitQueue<T> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), rotation: VecDeque::new(), last_ticket: 0 }
    }
}

impl<T> WaitQueue<T> {
    /// Whether no delivery waits.
    pub fn is_empty(&self) -> bool {
        self.rotation.is_empty()
    }

    /// Returns the number of clients with waiting deliveries.
    pub fn clients(&self) -> usize {
        self.rotation.len()
    }

    /// Adds a delivery behind those of its client; the returned ticket is for [`WaitQueue::remove`].
    pub fn push(&mut self, client: &ClientKey, delivery: T) -> u64 {
        self.last_ticket += 1;
        let queue = self.waiting.entry(client.clone()).or_default();
        if queue.is_empty() {
            self.rotation.push_back(client.clone());
        }
        queue.push_back((self.last_ticket, delivery));
        self.last_ticket
    }

    /// Removes and returns the next delivery: the first one of the next client that `may_go` accepts.
    pub fn next_where(&mut self, may_go: impl FnMut(&ClientKey) -> bool) -> Option<(ClientKey, T)> {
        let at = self.rotation.iter().position(may_go)?;
        let client = self.rotation.remove(at)?;
        let queue = self.waiting.get_mut(&client)?;
        let (_, delivery) = queue.pop_front()?;
        if queue.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.rotation.push_back(client.clone());
        }
        Some((client, delivery))
    }

    /// Returns how many deliveries of the same client are ahead; `None` if the ticket no longer waits.
    pub fn position(&self, client: &ClientKey, ticket: u64) -> Option<usize> {
        self.waiting.get(client)?.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }

    /// Removes a delivery from the queue; does nothing if it is no longer there.
    pub fn remove(&mut self, client: &ClientKey, ticket: u64) {
        let Some(position) = self.position(client, ticket) else { return };
        let Some(queue) = self.waiting.get_mut(client) else { return };
        queue.remove(position);
        if queue.is_empty() {
            self.waiting.remove(client);
            self.rotation.retain(|hosts| hosts != client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(names: [&str; 2]) -> [ClientKey; 2] {
        names.map(|name| Some(name.into()))
    }

    #[test]
    fn j09_a_client_waits_for_one_of_each_other_not_for_all_of_one() {
        let (mut wait_queue, [a, b]) = (WaitQueue::default(), clients(["a", "b"]));
        for n in 0..100 {
            wait_queue.push(&a, n);
        }
        wait_queue.push(&b, 200);
        wait_queue.push(&None, 300);
        wait_queue.push(&b, 201);
        let order: Vec<i32> = std::iter::from_fn(|| wait_queue.next_where(|_| true))
            .map(|(_, delivery)| delivery)
            .take(7)
            .collect();
        assert_eq!(order, [0, 200, 300, 1, 201, 2, 3]);
    }

    #[test]
    fn removed_deliveries_are_skipped() {
        let (mut wait_queue, [a, b]) = (WaitQueue::default(), clients(["a", "b"]));
        let last_ticket: Vec<u64> = (0..3).map(|n| wait_queue.push(&a, n)).collect();
        let alone = wait_queue.push(&b, 9);
        assert_eq!((wait_queue.position(&a, last_ticket[2]), wait_queue.clients()), (Some(2), 2));
        wait_queue.remove(&a, last_ticket[0]);
        wait_queue.remove(&b, alone);
        wait_queue.remove(&b, alone);
        assert_eq!((wait_queue.position(&a, last_ticket[2]), wait_queue.clients()), (Some(1), 1));
        assert_eq!(
            std::iter::from_fn(|| wait_queue.next_where(|_| true))
                .map(|(_, delivery)| delivery)
                .collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(wait_queue.is_empty() && wait_queue.waiting.is_empty());
    }
}
