//! Who gets the mail this time (rule M9): everyone once, but nobody who has it already.

use std::collections::HashSet;

use postrider_mail::Mailbox;
use postrider_seams::Fields;
use postrider_seams::envelope::{Recipient, RecipientResult};

use super::{Reason, fields};

#[derive(Debug, Default)]
pub struct Recipients {
    /// Whom to send to now; never empty.
    pub now: Vec<String>,
    /// Whom an earlier attempt settled, and who is not asked now.
    pub served: Vec<Recipient>,
    /// One of `now` has a local part that is not ASCII.
    pub utf8: bool,
}

/// All addresses of `lists`, each once, less those that an earlier attempt settled: who accepted is never sent to
/// again, who was refused for good is not asked again. If that leaves nobody but refused ones, an operator must have
/// requeued the row for their sake, and they are asked again.
pub fn choose(lists: [&[Mailbox]; 3], earlier: Vec<Recipient>, limit: usize) -> Result<Recipients, Reason> {
    let mut seen = HashSet::new();
    let all: Vec<&Mailbox> =
        lists.into_iter().flatten().filter(|mailbox| seen.insert(mailbox.address.as_str())).collect();
    if all.is_empty() {
        return Err(Reason::NoRecipients);
    }
    if all.len() > limit {
        return Err(Reason::ManyRecipients { found: all.len(), limit });
    }
    let settled = |mailbox: &Mailbox, wanted: RecipientResult| {
        earlier.iter().any(|one| one.result == wanted && one.address == mailbox.address.as_str())
    };
    let open: Vec<&Mailbox> =
        all.into_iter().filter(|mailbox| !settled(mailbox, RecipientResult::Accepted)).collect();
    let unasked = open.iter().copied().filter(|mailbox| !settled(mailbox, RecipientResult::Refused));
    let mut now: Vec<&Mailbox> = unasked.collect();
    if now.is_empty() {
        now = open;
    }
    if now.is_empty() {
        return Err(Reason::AllServed);
    }
    let utf8 = now.iter().any(|mailbox| mailbox.address.needs_utf8());
    let now: Vec<String> = now.into_iter().map(|mailbox| mailbox.address.as_str().to_owned()).collect();
    let served = earlier.into_iter().filter(|one| match one.result {
        RecipientResult::Accepted => true,
        RecipientResult::Refused => !now.contains(&one.address),
        RecipientResult::Deferred => false,
    });
    let served = served.collect();
    Ok(Recipients { now, served, utf8 })
}

/// What an earlier attempt wrote of each recipient.
pub fn earlier(row: &Fields) -> Result<Vec<Recipient>, Reason> {
    let Some(json) = fields::json(row, "results")? else { return Ok(Vec::new()) };
    serde_json::from_str(json).map_err(|error| Reason::Json { field: "results", problem: error.to_string() })
}
