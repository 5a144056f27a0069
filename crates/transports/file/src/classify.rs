//! What an error of the file system means for the row.

use std::io::{self, ErrorKind};

use postrider_seams::{Failure, Outcome};

use crate::Error;

/// A folder that can't be written at all is not the row's fault: the lane pauses (rule G3). The rest may pass.
pub fn outcome(error: &Error) -> Outcome {
    let failure = Failure::new(error.to_string());
    if is_ours(&error.source) { Outcome::Refused(failure) } else { Outcome::Retryable(failure) }
}

/// Must an operator act (make room, grant access, mount it)?
pub fn is_ours(error: &io::Error) -> bool {
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
    fn g3_a_folder_that_takes_nothing_pauses_the_lane() {
        for kind in [ErrorKind::StorageFull, ErrorKind::PermissionDenied, ErrorKind::NotFound] {
            assert!(matches!(of(kind), Outcome::Refused(_)), "{kind}");
        }
    }

    #[test]
    fn other_errors_are_tried_again_and_name_the_file() {
        let Outcome::Retryable(failure) = of(ErrorKind::Interrupted) else { panic!("not retryable") };
        assert!(failure.reason.starts_with("mail/1.eml can't be written"), "{}", failure.reason);
    }
}
