//! The errors of commands: their message and exit code.

use std::io;
use std::process::ExitCode;

use postrider_config::{Mistake, Mistakes};
use postrider_seams::scrub::scrub;
use postrider_seams::{store, transport};
use postrider_server::{BindError, MetricsError};
use serde_json::{Value, json};

use crate::settings::InvalidSettings;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments are wrong; nothing was done.
    #[error("{0}")]
    Misuse(String),
    /// The settings are wrong; nothing was done.
    #[error("the settings are not valid\n{0}")]
    Settings(InvalidSettings),
    /// The contract that the command was asked to check is invalid.
    #[error("the contract is not valid\n{0}\n{count} mistake(s)", count = .0.iter().count())]
    Contract(Mistakes),
    /// The command failed for a reason outside the arguments and settings.
    #[error("{0}")]
    Failed(String),
    /// Reported already, line by line, on stdout; only the exit code is left to set.
    #[error("")]
    Reported,
    /// The reader of stdout closed it (`| head`), which is not an error.
    #[error("")]
    StdoutClosed,
}

impl Failure {
    /// Prints the error to stderr and returns the exit code.
    pub fn report(&self, json: bool) -> ExitCode {
        let code = self.code();
        match self {
            Self::Reported | Self::StdoutClosed => {}
            _ if json => eprintln!("{}", scrub(&self.object(code).to_string())),
            _ => eprintln!("{}", scrub(&format!("error: {self}"))),
        }
        ExitCode::from(code)
    }

    fn code(&self) -> u8 {
        match self {
            Self::Misuse(_) | Self::Settings(_) => 2,
            // An invalid contract is the result of a check, not a wrong use of the command.
            Self::Failed(_) | Self::Contract(_) | Self::Reported => 1,
            Self::StdoutClosed => 0,
        }
    }

    fn object(&self, code: u8) -> Value {
        let mut object = json!({ "error": self.to_string(), "exit_code": code });
        let mistakes = match self {
            Self::Settings(InvalidSettings(mistakes)) | Self::Contract(mistakes) => {
                mistakes.iter().map(mistake).collect()
            }
            _ => Vec::new(),
        };
        if !mistakes.is_empty() {
            object["mistakes"] = mistakes.into();
        }
        object
    }
}

fn mistake(mistake: &Mistake) -> Value {
    json!({ "at": mistake.place.to_string(), "key": mistake.key, "text": mistake.text() })
}

impl From<InvalidSettings> for Failure {
    fn from(mistakes: InvalidSettings) -> Self {
        Self::Settings(mistakes)
    }
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Self::Contract(mistakes)
    }
}

impl From<store::Error> for Failure {
    fn from(error: store::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<sqlx::Error> for Failure {
    /// Only the demo's application runs SQL in this crate.
    fn from(error: sqlx::Error) -> Self {
        Self::Failed(format!("the demo's application cannot use its database: {error}"))
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

impl From<MetricsError> for Failure {
    fn from(error: MetricsError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::BrokenPipe => Self::StdoutClosed,
            _ => Self::Failed(error.to_string()),
        }
    }
}

impl From<postrider_hub::Error> for Failure {
    fn from(error: postrider_hub::Error) -> Self {
        match error {
            postrider_hub::Error::Store(error) => error.into(),
            other => Self::Misuse(other.to_string()),
        }
    }
}
