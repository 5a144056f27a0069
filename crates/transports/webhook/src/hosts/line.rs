//! Who waits for a turn at one host. Clients take turns: however many deliveries of one wait, another's is next but one.
//!
//! Pure. Invariant: a client is in the round exactly while one of its deliveries waits.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// Whose deliveries take turns with those of others; jobs without a client are one more.
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
    pub fn is_empty(&self) -> bool {
        self.round.is_empty()
    }

    /// Clients that wait.
    pub fn clients(&self) -> usize {
        self.round.len()
    }

    /// Takes a place behind the client's others; the ticket is for [`Line::leave`].
    pub fn join(&mut self, client: &Client, one: T) -> u64 {
        self.tickets += 1;
        let own = self.waiting.entry(client.clone()).or_default();
        if own.is_empty() {
            self.round.push_back(client.clone());
        }
        own.push_back((self.tickets, one));
        self.tickets
    }

    /// The next to go: the first of the first client in the round that may go.
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

    /// How many of its own client are before it; `None` where it does not wait any more.
    pub fn place(&self, client: &Client, ticket: u64) -> Option<usize> {
        self.waiting.get(client)?.binary_search_by_key(&ticket, |(ticket, _)| *ticket).ok()
    }

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
