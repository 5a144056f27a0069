//! Who gets the mail this time (rule M9): everyone once, but nobody who has it already.

use postrider_seams::envelope::{Recipient, RecipientResult};

#[derive(Debug, Default)]
pub(crate) struct Recipients {
    /// Whom to send to now; empty only if all have it.
    pub now: Vec<String>,
    /// Whom an earlier attempt settled, and who is not asked now.
    pub served: Vec<Recipient>,
}

/// All addresses less those that an earlier attempt settled: who accepted is never sent to again, who was refused for good
/// is not asked again. If that leaves nobody but refused ones, an operator must have requeued the row for their sake, and they
/// are asked again.
pub(crate) fn choose(all: Vec<String>, earlier: Vec<Recipient>) -> Recipients {
    if earlier.is_empty() {
        return Recipients { now: all, served: earlier };
    }
    let settled = |address: &str, wanted: RecipientResult| {
        earlier.iter().any(|one| one.result == wanted && one.address == address)
    };
    let open: Vec<String> =
        all.into_iter().filter(|address| !settled(address, RecipientResult::Accepted)).collect();
    let unasked = open.iter().filter(|address| !settled(address, RecipientResult::Refused));
    let mut now: Vec<String> = unasked.cloned().collect();
    if now.is_empty() {
        now = open;
    }
    let served = earlier.into_iter().filter(|one| match one.result {
        RecipientResult::Accepted => true,
        RecipientResult::Refused => !now.contains(&one.address),
        RecipientResult::Deferred => false,
    });
    let served = served.collect();
    Recipients { now, served }
}

/// Does the address need SMTPUTF8? Domains are ASCII by now.
pub(crate) fn needs_utf8(address: &str) -> bool {
    address.rsplit_once('@').is_some_and(|(local, _)| !local.is_ascii())
}

/// What an earlier attempt wrote of each recipient, as a JSON list.
pub(crate) fn earlier(json: Option<&str>) -> Result<Vec<Recipient>, serde_json::Error> {
    json.map_or_else(|| Ok(Vec::new()), serde_json::from_str)
}
