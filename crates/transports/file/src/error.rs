//! Errors of a folder.

use std::io;
use std::path::PathBuf;

use postrider_seams::transport;

use crate::classify;

/// A file or folder that could not be written.
#[derive(Debug, thiserror::Error)]
#[error("{} can't be written: {source}", .path.display())]
pub struct Error {
    pub path: PathBuf,
    pub source: io::Error,
}

impl Error {
    pub(crate) fn at(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { path, source }
    }
}

impl From<Error> for transport::Error {
    fn from(error: Error) -> Self {
        if classify::is_folder_error(&error.source) {
            Self::Refused(error.to_string())
        } else {
            Self::Unreachable(error.to_string())
        }
    }
}
