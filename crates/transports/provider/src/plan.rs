//! Splits the recipients of a mail over requests. Pure.
//!
//! Providers limit the recipients of a request, and those that accept parts need at least one visible recipient.
//! Invariant: each recipient is in exactly one request, and no recipient sees another one that is hidden (Bcc).

use postrider_seams::Mail;

use crate::draft::{Draft, Mailbox};

#[cfg(test)]
mod tests;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Part {
    pub to: Vec<Mailbox>,
    pub cc: Vec<Mailbox>,
    pub bcc: Vec<Mailbox>,
}

impl Part {
    /// Returns the addresses of all recipients: To, Cc and Bcc.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.to.iter().chain(&self.cc).chain(&self.bcc).map(|mailbox| mailbox.email.as_str())
    }
}

/// Plans a raw message: only the envelope matters.
pub(crate) fn whole(mail: &Mail, most: usize) -> Vec<Part> {
    mail.to
        .chunks(most)
        .map(|some| Part { to: some.iter().map(|to| bare(to)).collect(), ..Part::default() })
        .collect()
}

/// Plans a message in parts: the header decides who is visible, the envelope who gets it.
pub(crate) fn seen(mail: &Mail, draft: &Draft, most: usize) -> Vec<Part> {
    let mut seen: Vec<(bool, Mailbox)> = Vec::new();
    let mut hidden = Vec::new();
    for address in &mail.to {
        let named =
            |list: &[Mailbox]| list.iter().find(|known| known.email.eq_ignore_ascii_case(address)).cloned();
        match (named(&draft.to), named(&draft.cc)) {
            (Some(found), _) => seen.push((true, Mailbox { email: address.clone(), ..found })),
            (None, Some(found)) => seen.push((false, Mailbox { email: address.clone(), ..found })),
            (None, None) => hidden.push(bare(address)),
        }
    }
    let mut parts: Vec<Part> = seen.chunks(most).map(visible).collect();
    if let Some(last) = parts.last_mut() {
        let room = most - last.to.len() - last.cc.len();
        last.bcc = hidden.drain(..room.min(hidden.len())).collect();
    }
    parts.extend(hidden.into_iter().map(|one| Part { to: vec![one], ..Part::default() }));
    parts
}

fn visible(some: &[(bool, Mailbox)]) -> Part {
    let list = |first: bool| {
        some.iter().filter(|(to, _)| *to == first).map(|(_, mailbox)| mailbox.clone()).collect()
    };
    let (to, cc): (Vec<Mailbox>, Vec<Mailbox>) = (list(true), list(false));
    if to.is_empty() { Part { to: cc, ..Part::default() } } else { Part { to, cc, ..Part::default() } }
}

fn bare(address: &str) -> Mailbox {
    Mailbox { name: None, email: address.to_owned() }
}
