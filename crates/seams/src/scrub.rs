//! Removes known secrets from texts that come from outside: answers of relays, providers, receivers and databases.
//!
//! Owns: a register of every secret that this process has read, and the forms in which others may repeat it: as it is,
//! base64 (also inside a longer text, such as `user:password`), URL-encoded, JSON-escaped. Must not: hand a secret out.
//! Invariant: what [`scrub`] returns holds none of these forms, not even one that was cut off at the end of the text.
//!
//! The register is one per process: a secret may come back in any text, whoever reads it.

mod forms;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::sync::{LazyLock, PoisonError, RwLock};

use zeroize::Zeroizing;

/// What stands in the place of a secret.
pub const REDACTED: &str = "[redacted]";

/// Shorter secrets are not searched for: they would match parts of ordinary words, and protect nothing.
pub const SHORTEST: usize = 6;

/// A text that ends in the middle of a secret was cut: from this many bytes on it counts as the secret.
const CUT: usize = 8;

/// Secrets that come and go and are kept; tokens that are renewed every hour must not grow without end. Those of the settings and
/// the environment are kept beside them, for good.
const KEPT: usize = 10_000;

/// The first bytes of a form, by which it is found.
type Start = [u8; SHORTEST];

/// One form of a secret, with the secret's number.
type Form = (u64, Zeroizing<Vec<u8>>);

static REGISTER: LazyLock<RwLock<Register>> = LazyLock::new(RwLock::default);

/// From now on this secret is removed from texts. A URL stands for the password, key or token in it. Idempotent.
pub fn register(secret: &str) {
    for part in forms::secrets_in(secret) {
        register_one(&part);
    }
}

/// The same for a secret that the process uses as long as it runs, whatever else it reads: one of the settings or of the
/// environment.
pub fn register_lasting(secret: &str) {
    for part in forms::secrets_in(secret).iter().filter(|part| part.len() >= SHORTEST) {
        let forms = forms::of(part);
        REGISTER.write().unwrap_or_else(PoisonError::into_inner).keep(part, forms);
    }
}

fn register_one(secret: &str) {
    if secret.len() < SHORTEST || is_known(secret) {
        return;
    }
    let forms = forms::of(secret);
    let mut register = REGISTER.write().unwrap_or_else(PoisonError::into_inner);
    register.add(forms);
}

fn is_known(secret: &str) -> bool {
    REGISTER.read().unwrap_or_else(PoisonError::into_inner).has(secret.as_bytes())
}

/// The text without any known secret. Linear in the length of the text.
pub fn scrub(text: &str) -> Cow<'_, str> {
    REGISTER.read().unwrap_or_else(PoisonError::into_inner).scrub(text)
}

/// The same for a text that is owned.
#[must_use]
pub fn scrubbed(text: String) -> String {
    match scrub(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

#[derive(Default)]
struct Register {
    /// Forms by how they begin.
    forms: HashMap<Start, Vec<Form>>,
    /// Those that may be forgotten, the oldest first.
    order: VecDeque<(u64, Vec<Start>)>,
    next: u64,
}

impl Register {
    fn add(&mut self, forms: Vec<Zeroizing<Vec<u8>>>) {
        let entry = self.insert(forms);
        self.order.push_back(entry);
        if self.order.len() > KEPT {
            self.forget_oldest();
        }
    }

    /// Never forgotten: one that is known already leaves the order, another one never enters it.
    fn keep(&mut self, secret: &str, forms: Vec<Zeroizing<Vec<u8>>>) {
        match self.number(secret.as_bytes()) {
            Some(known) => self.order.retain(|(number, _)| *number != known),
            None => drop(self.insert(forms)),
        }
    }

    fn insert(&mut self, forms: Vec<Zeroizing<Vec<u8>>>) -> (u64, Vec<Start>) {
        let number = self.next;
        self.next += 1;
        let mut starts = Vec::with_capacity(forms.len());
        for form in forms {
            let Some(start) = form.first_chunk::<SHORTEST>().copied() else { continue };
            starts.push(start);
            self.forms.entry(start).or_default().push((number, form));
        }
        (number, starts)
    }

    fn forget_oldest(&mut self) {
        let Some((number, starts)) = self.order.pop_front() else { return };
        for start in starts {
            if let Some(forms) = self.forms.get_mut(&start) {
                forms.retain(|(own, _)| *own != number);
                if forms.is_empty() {
                    self.forms.remove(&start);
                }
            }
        }
    }

    fn has(&self, form: &[u8]) -> bool {
        self.number(form).is_some()
    }

    fn number(&self, form: &[u8]) -> Option<u64> {
        let candidates = form.first_chunk::<SHORTEST>().and_then(|start| self.forms.get(start))?;
        candidates.iter().find(|(_, known)| known.as_slice() == form).map(|(number, _)| *number)
    }

    fn scrub<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.forms.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut clean = String::new();
        let (mut from, mut at) = (0, 0);
        while let Some(start) = text.as_bytes()[at..].first_chunk::<SHORTEST>() {
            let found = self.forms.get(start).and_then(|candidates| longest(candidates, &text[at..]));
            if let Some(length) = found {
                clean.push_str(&text[from..at]);
                clean.push_str(REDACTED);
                at += length;
                from = at;
            } else {
                at += text[at..].chars().next().map_or(1, char::len_utf8);
            }
        }
        if from == 0 {
            return Cow::Borrowed(text);
        }
        clean.push_str(&text[from..]);
        Cow::Owned(clean)
    }
}

/// How much of the text's beginning is a secret: a whole one, or one that was cut off at the end.
fn longest(candidates: &[Form], text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    // Texts are shortened with an ellipsis.
    let end = text.find('…').unwrap_or(text.len());
    let one = |form: &Zeroizing<Vec<u8>>| {
        let whole = bytes.starts_with(form).then_some(form.len());
        whole.or_else(|| (end >= CUT && form.starts_with(&bytes[..end])).then_some(end))
    };
    candidates.iter().filter_map(|(_, form)| one(form)).max()
}
