//! The errors of commands: their message and exit code.

use std::io;
use std::process::ExitCode;

use postrider_contract::Problems;
use postrider_seams::scrub::scrub;
use postrider_seams::{store, transport};
use postrider_server::{BindError, FiguresError};
use serde_json::{Value, json};

use crate::settings::Mistakes;

/// An error that ends a command.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The arguments are wrong; nothing was done.
    #[error("{0}")]
    Misuse(String),
    /// The settings are wrong; nothing was done.
    #[error("the settings are not valid\n{0}")]
    Settings(Mistakes),
    /// The contract that the command was asked to check is invalid.
    #[error("the contract is not valid\n{0}\n{count} mistake(s)", count = .0.iter().count())]
    Contract(Problems),
    /// The command failed for a reason outside the arguments and settings.
    #[error("{0}")]
    Failed(String),
    /// Reported already, line by line, on stdout; only the exit code is left to set.
    #[error("")]
    Reported,
    /// The reader of stdout closed it (`| head`), which is not an error.
    #[error("")]
    NobodyListens,
}

impl Failure {
    /// Prints the error to stderr and returns the exit code.
    pub fn report(&self, json: bool) -> ExitCode {
        let code = self.code();
        match self {
            Self::Reported | Self::NobodyListens => {}
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
            Self::NobodyListens => 0,
        }
    }

    fn object(&self, code: u8) -> Value {
        let mut object = json!({ "error": self.to_string(), "exit_code": code });
        let mistakes = match self {
            Self::Settings(mistakes) => {
                let one =
                    |place: String, key: &str, text: &str| json!({ "at": place, "key": key, "text": text });
                mistakes.iter().map(|it| one(it.place.to_string(), &it.key, &it.text)).collect()
            }
            Self::Contract(problems) => problems.iter().map(problem).collect(),
            _ => Vec::new(),
        };
        if !mistakes.is_empty() {
            object["mistakes"] = mistakes.into();
        }
        object
    }
}

fn problem(problem: &postrider_contract::Problem) -> Value {
    let at = match problem.place {
        Some((line, column)) => format!("{}:{line}:{column}", problem.origin),
        None => problem.origin.clone(),
    };
    let text = match problem.remedy.as_str() {
        "" => problem.what.clone(),
        remedy => format!("{}; {remedy}", problem.what),
    };
    json!({ "at": at, "key": problem.key, "text": text })
}

impl From<Mistakes> for Failure {
    fn from(mistakes: Mistakes) -> Self {
        Self::Settings(mistakes)
    }
}

impl From<Problems> for Failure {
    fn from(problems: Problems) -> Self {
        Self::Contract(problems)
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
