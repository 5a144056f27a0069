//! Classifies errors of the file system.

use std::io::{self, ErrorKind};
use std::time::Duration;

use postrider_seams::{Failure, Outcome, is_exhausted};

use crate::Error;

/// Wait of a row when this machine has no descriptors or memory left.
const EXHAUSTED_WAIT: Duration = Duration::from_secs(5);

/// Returns the outcome of an error.
/// A folder that cannot be written is not the row's fault: the lane pauses (rule G3). A lack of descriptors or memory
/// is not the row's fault either: it waits, uncharged (rule G1). Other errors may be temporary.
pub fn outcome(error: &Error) -> Outcome {
    let failure = Failure::new(error.to_string());
    if is_exhausted(&error.source) {
        return Outcome::Deferred(Failure { after: Some(EXHAUSTED_WAIT), ..failure });
    }
    if is_folder_error(&error.source) { Outcome::Refused(failure) } else { Outcome::Retryable(failure) }
}

/// Whether an operator must act (free disk space, grant access, mount the folder).
pub fn is_folder_error(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::PermissionDenied
            | ErrorKind::NotFound
            | ErrorKind::NotADirectory
            | ErrorKind::ReadOnlyFilesystem
            | ErrorKind::StorageFull
            | ErrorKind::QuotaExceeded
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: ErrorKind) -> Outcome {
        outcome(&Error { path: "mail/1.eml".into(), source: kind.into() })
    }

    #[test]
    fn g03_an_unwritable_folder_pauses_the_lane() {
        for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::NotFound] {
            assert!(matches!(of(kind), Outcome::Refused(_)), "{kind}");
        }
    }

    #[test]
    fn g01_exhausted_descriptors_or_memory_cost_no_attempt() {
        for code in [12, 23, 24] {
            let source = io::Error::from_raw_os_error(code);
            let outcome = outcome(&Error { path: "mail/1.eml".into(), source });
            let Outcome::Deferred(failure) = outcome else { panic!("{code}: {outcome:?}") };
            assert!(failure.after.is_some(), "{code}");
        }
    }

    #[test]
    fn other_errors_are_tried_again_and_name_the_file() {
        let Outcome::Retryable(failure) = of(ErrorKind::Interrupted) else { panic!("not retryable") };
        assert!(failure.reason.starts_with("mail/1.eml can't be written"), "{}", failure.reason);
    }
}
