//! Decides which answers the proxy loses.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::LostAnswer;

#[derive(Debug, Default)]
pub(super) struct Losses(Mutex<Option<(LostAnswer, usize)>>);

impl Losses {
    fn lock(&self) -> MutexGuard<'_, Option<(LostAnswer, usize)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn lose(&self, answer: LostAnswer, times: usize) {
        *self.lock() = Some((answer, times));
    }

    pub(super) fn left(&self) -> usize {
        self.lock().map_or(0, |(_, times)| times)
    }

    /// Whether the answer to this request is to be lost.
    pub(super) fn loses_answer_to(&self, bytes: &[u8]) -> bool {
        self.count_down(|answer| matches!(answer, LostAnswer::To(part) if contains(bytes, part)))
    }

    /// Whether this answer is to be lost.
    pub(super) fn loses(&self, bytes: &[u8]) -> bool {
        self.count_down(|answer| matches!(answer, LostAnswer::With(part) if contains(bytes, part)))
    }

    fn count_down(&self, matches: impl Fn(LostAnswer) -> bool) -> bool {
        match &mut *self.lock() {
            Some((answer, times)) if *times > 0 && matches(*answer) => {
                *times -= 1;
                true
            }
            _ => false,
        }
    }
}

fn contains(bytes: &[u8], part: &[u8]) -> bool {
    bytes.windows(part.len().max(1)).any(|window| window == part)
}
