//! The queue of deliveries that wait for a slot of one host: round-robin over clients.
//!
//! Pure. Invariant: a client is in the round exactly while one of its deliveries waits.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The client whose deliveries are queued together; all jobs without a client count as one client.
pub(super) type Client = Option<Arc<str>>;

#[derive(Debug)]
pub(super) struct Line<T> {
    waiting: HashMap<Client, VecDeque<(u64, T)>>,
    round: VecDeque<Client>,
    tickets: u64,
}

impl<T> Default for Line<T> {
    fn default() -> Self {
        Self { waiting: HashMap::new(), round: VecDeque::new(), tickets: 0 }
    }
}

impl<T> Line<T> {
    /// Whether no delivery waits.
    pub fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    /// Returns the number of clients with waiting deliveries.
    pub fn clients(&self) -> usize {
        self.round.len()
    }

    /// Adds a delivery behind those of its client; the returned ticket is for [`Line::leave`].
    pub fn join(&mut self, client: &Client, one: T) -> u64 {
        self.tickets += 1;
        let own = self.waiting.entry(client.clone()).or_default();
        if own.is_empty() {
            self.round.push_back(client.clone());
        }
        own.push_back((self.tickets, one));
        self.tickets
    }

    /// Removes and returns the next delivery: the first one of the next client that `may_go` accepts.
    pub fn next_where(&mut self, may_go: impl FnMut(&Client) -> bool) -> Option<(Client, T)> {
        let at = self.round.iter().position(may_go)?;
        let client = self.round.remove(at)?;
        let own = self.waiting.get_mut(&client)?;
        let (_, one) = own.pop_front()?;
        if own.is_empty() {
            self.waiting.remove(&client);
        } else {
            self.round.push_back(client.clone());
        }
        Some((client, one))
    }

    /// Returns how many deliveries of the same client are ahead; `None` if the ticket no longer waits.
    pub fn place(&self, client: &Client, ticket: u64) -> Option<usize> {
        self.waiting.get(client)?.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }

    /// Removes a delivery from the queue; does nothing if it is no longer there.
    pub fn leave(&mut self, client: &Client, ticket: u64) {
        let Some(place) = self.place(client, ticket) else { return };
        let Some(own) = self.waiting.get_mut(client) else { return };
        own.remove(place);
        if own.is_empty() {
            self.waiting.remove(client);
            self.round.retain(|known| known != client);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(names: [&str; 2]) -> [Client; 2] {
        names.map(|name| Some(name.into()))
    }

    #[test]
    fn j9_a_client_waits_for_one_of_each_other_not_for_all_of_one() {
        let (mut line, [a, b]) = (Line::default(), clients(["a", "b"]));
        for n in 0..100 {
            line.join(&a, n);
        }
        line.join(&b, 200);
        line.join(&None, 300);
        line.join(&b, 201);
        let order: Vec<i32> =
            std::iter::from_fn(|| line.next_where(|_| true)).map(|(_, one)| one).take(7).collect();
        assert_eq!(order, [0, 200, 300, 1, 201, 2, 3]);
    }

    #[test]
    fn who_leaves_is_passed_over() {
        let (mut line, [a, b]) = (Line::default(), clients(["a", "b"]));
        let tickets: Vec<u64> = (0..3).map(|n| line.join(&a, n)).collect();
        let alone = line.join(&b, 9);
        assert_eq!((line.place(&a, tickets[2]), line.clients()), (Some(2), 2));
        line.leave(&a, tickets[0]);
        line.leave(&b, alone);
        line.leave(&b, alone);
        assert_eq!((line.place(&a, tickets[2]), line.clients()), (Some(1), 1));
        assert_eq!(
            std::iter::from_fn(|| line.next_where(|_| true)).map(|(_, one)| one).collect::<Vec<_>>(),
            [1, 2]
        );
        assert!(line.is_empty() && line.waiting.is_empty());
    }
}
