//! Splits the recipients of a mail over requests. Pure.
//!
//! Providers limit the recipients of a request, and those that accept parts need at least one visible recipient.
//! Invariant: each recipient is in exactly one request, and no recipient sees another one that is hidden (Bcc).

use postrider_seams::Mail;

use crate::parsed_message::{ParsedMailbox, ParsedMessage};

#[cfg(test)]
mod tests;

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct RecipientGroup {
    pub to: Vec<ParsedMailbox>,
    pub cc: Vec<ParsedMailbox>,
    pub bcc: Vec<ParsedMailbox>,
}

impl RecipientGroup {
    /// Returns the addresses of all recipients: To, Cc and Bcc.
    pub fn addresses(&self) -> impl Iterator<Item = &str> {
        self.to.iter().chain(&self.cc).chain(&self.bcc).map(|mailbox| mailbox.email.as_str())
    }
}

/// Plans a raw message: only the envelope matters.
pub(crate) fn split_envelope(mail: &Mail, limit: usize) -> Vec<RecipientGroup> {
    mail.to
        .chunks(limit)
        .map(|some| RecipientGroup {
            to: some.iter().map(|to| without_name(to)).collect(),
            ..RecipientGroup::default()
        })
        .collect()
}

/// Plans a message in parts: the header decides who is visible, the envelope who gets it.
pub(crate) fn split_visible(mail: &Mail, parsed: &ParsedMessage, limit: usize) -> Vec<RecipientGroup> {
    let mut visible: Vec<(bool, ParsedMailbox)> = Vec::new();
    let mut hidden = Vec::new();
    for address in &mail.to {
        let find = |list: &[ParsedMailbox]| {
            list.iter().find(|mailbox| mailbox.email.eq_ignore_ascii_case(address)).cloned()
        };
        match (find(&parsed.to), find(&parsed.cc)) {
            (Some(found), _) => visible.push((true, ParsedMailbox { email: address.clone(), ..found })),
            (None, Some(found)) => visible.push((false, ParsedMailbox { email: address.clone(), ..found })),
            (None, None) => hidden.push(without_name(address)),
        }
    }
    let mut groups: Vec<RecipientGroup> = visible.chunks(limit).map(visible_group).collect();
    if let Some(last) = groups.last_mut() {
        let free = limit - last.to.len() - last.cc.len();
        last.bcc = hidden.drain(..free.min(hidden.len())).collect();
    }
    groups
        .extend(hidden.into_iter().map(|one| RecipientGroup { to: vec![one], ..RecipientGroup::default() }));
    groups
}

fn visible_group(some: &[(bool, ParsedMailbox)]) -> RecipientGroup {
    let list = |first: bool| {
        some.iter().filter(|(to, _)| *to == first).map(|(_, mailbox)| mailbox.clone()).collect()
    };
    let (to, cc): (Vec<ParsedMailbox>, Vec<ParsedMailbox>) = (list(true), list(false));
    if to.is_empty() {
        RecipientGroup { to: cc, ..RecipientGroup::default() }
    } else {
        RecipientGroup { to, cc, ..RecipientGroup::default() }
    }
}

fn without_name(address: &str) -> ParsedMailbox {
    ParsedMailbox { name: None, email: address.to_owned() }
}
