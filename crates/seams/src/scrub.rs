//! Removes known secrets from texts that come from outside: answers of relays, providers, receivers and databases.
//!
//! Owns: a register of every secret that this process has read, and the forms in which a text may repeat it: verbatim,
//! base64 (also inside a longer text, such as `user:password`), and either of them with the escapes of JSON, URLs or
//! HTML, up to three levels of them. Must not: hand a secret out. Invariant: the result of [`scrub`] contains none of these forms, not even one that was cut off at the end of the
//! text.
//!
//! There is one register per process, because a secret may come back in any text, whichever part of the program reads
//! it.

mod decode;
mod forms;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::{LazyLock, PoisonError, RwLock};

use zeroize::Zeroizing;

use self::decode::View;

/// The text that replaces a secret.
pub const REDACTED: &str = "[redacted]";

/// The minimum length of a secret in bytes; shorter ones are not searched for: they would match parts of ordinary
/// words, and protect nothing.
pub const SHORTEST: usize = 6;

/// The minimum length in bytes of a secret that was cut off at the end of a text.
const CUT: usize = 8;

/// The levels of escapes that are undone: an answer in JSON may quote another one.
const LEVELS: usize = 3;

/// The maximum number of temporary secrets, such as tokens that are renewed every hour: the register must not grow
/// without limit. Secrets of the settings and the environment are stored in addition, permanently.
const KEPT: usize = 10_000;

/// The first bytes of a form, the key of the search.
type Start = [u8; SHORTEST];

/// One form of a secret, with the secret's number.
type Form = (u64, Zeroizing<Vec<u8>>);

static REGISTER: LazyLock<RwLock<Register>> = LazyLock::new(RwLock::default);

/// Registers a secret that is removed from texts from now on. Of a URL, its password, key or token. Idempotent.
pub fn register(secret: &str) {
    for part in forms::secrets_in(secret) {
        register_one(&part);
    }
}

/// Registers a secret that is never forgotten: one of the settings or of the environment.
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

/// Returns the text without any known secret. Linear in the length of the text.
pub fn scrub(text: &str) -> Cow<'_, str> {
    REGISTER.read().unwrap_or_else(PoisonError::into_inner).scrub(text)
}

/// Removes known secrets from an owned text, without a copy if there are none.
#[must_use]
pub fn scrubbed(text: String) -> String {
    match scrub(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(clean) => clean,
    }
}

#[derive(Default)]
struct Register {
    /// Forms by their first bytes.
    forms: HashMap<Start, Vec<Form>>,
    /// Secrets that may be forgotten, oldest first.
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

    /// Registers a secret that is never forgotten: a known one is removed from `order`, a new one is not added to it.
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
        let found = self.find(text);
        if found.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut clean, mut from) = (String::with_capacity(text.len()), 0);
        for range in found {
            let start = text.floor_char_boundary(range.start);
            if start < from {
                // It overlaps what was removed before it.
                from = from.max(text.ceil_char_boundary(range.end));
                continue;
            }
            clean.push_str(&text[from..start]);
            clean.push_str(REDACTED);
            from = text.ceil_char_boundary(range.end);
        }
        clean.push_str(&text[from..]);
        Cow::Owned(clean)
    }

    /// Returns where secrets are in the text, ordered by their start.
    fn find(&self, text: &str) -> Vec<Range<usize>> {
        if self.forms.is_empty() {
            return Vec::new();
        }
        let mut found = self.find_in(text.as_bytes());
        let mut views: Vec<View> = Vec::new();
        while views.len() < LEVELS {
            let shown = views.last().map_or(text.as_bytes(), |view| view.bytes.as_slice());
            let Some(view) = View::decode(shown) else { break };
            views.push(view);
            let in_view = self.find_in(&views[views.len() - 1].bytes);
            found.extend(
                in_view
                    .into_iter()
                    .map(|range| views.iter().rev().fold(range, |range, view| view.origin(&range))),
            );
        }
        found.sort_unstable_by_key(|range| (range.start, range.end));
        found
    }

    fn find_in(&self, text: &[u8]) -> Vec<Range<usize>> {
        let (mut found, mut at) = (Vec::new(), 0);
        while let Some(start) = text[at..].first_chunk::<SHORTEST>() {
            let length = self.forms.get(start).and_then(|candidates| longest(candidates, &text[at..]));
            if let Some(length) = length {
                found.push(at..at + length);
            }
            at += length.unwrap_or(1);
        }
        found
    }
}

/// Returns the length of the secret at the beginning of the text: a whole one, or one that was cut off at its end.
fn longest(candidates: &[Form], text: &[u8]) -> Option<usize> {
    // Shortened texts end with an ellipsis.
    let end = decode::end(text);
    let one = |form: &Zeroizing<Vec<u8>>| {
        let whole = text.starts_with(form).then_some(form.len());
        whole.or_else(|| (end >= CUT && form.starts_with(&text[..end])).then_some(end))
    };
    candidates.iter().filter_map(|(_, form)| one(form)).max()
}
