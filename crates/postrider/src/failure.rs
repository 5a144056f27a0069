//! How a command fails: what is said, and the exit code.

use std::io;
use std::process::ExitCode;

use postrider_seams::{store, transport};
use postrider_server::{BindError, FiguresError};

use crate::settings::Mistakes;

#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments or the settings are wrong; nothing was done.
    #[error("{0}")]
    Misuse(String),
    /// It could not be done.
    #[error("{0}")]
    Failed(String),
    /// Said already, line by line, on stdout: only the exit code is left.
    #[error("")]
    Reported,
    /// The reader of our output went away (`| head`): nothing is wrong.
    #[error("")]
    NobodyListens,
}

impl Failure {
    /// Says what is to be said, and gives the exit code.
    pub fn report(&self) -> ExitCode {
        match self {
            Self::Misuse(text) => {
                eprintln!("error: {text}");
                ExitCode::from(2)
            }
            Self::Failed(text) => {
                eprintln!("error: {text}");
                ExitCode::from(1)
            }
            Self::Reported => ExitCode::from(1),
            Self::NobodyListens => ExitCode::SUCCESS,
        }
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Self::Misuse(format!("the settings are not right\n{mistakes}"))
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<sqlx::Error> for Failure {
    /// Only the demo's own application speaks SQL here.
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(format!("the demo's application can't use its database: {error}"))
    }
}

impl From<transport::Error> for Failure {
    fn from(error: transport::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<BindError> for Failure {
    fn from(error: BindError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<FiguresError> for Failure {
    fn from(error: FiguresError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::NobodyListens,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<postrider_hub::Error> for Failure {
    fn from(error: postrider_hub::Error) -> Self {
        match error {
            postrider_hub::Error::Store(error) => error.into(),
            said => Self::Misuse(said.to_string()),
        }
    }
}
