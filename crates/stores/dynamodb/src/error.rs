//! Classifies errors of the service.

use std::error::Error as _;

use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_runtime_api::client::result::DispatchFailure;
use postrider_seams::store::{Class, Error};

/// A failed request: the error, and whether the service only throttled it.
#[derive(Debug)]
pub(crate) struct RequestError {
    pub error: Error,
    pub throttled: bool,
    /// Whether no answer came, so that the request may have taken effect.
    pub unanswered: bool,
}

/// Whether the service is overloaded, or another transaction is writing the same record.
pub(crate) fn is_throttling(code: &str) -> bool {
    matches!(
        code,
        "ProvisionedThroughputExceededException"
            | "ProvisionedThroughputExceeded"
            | "ThrottlingException"
            | "ThrottlingError"
            | "Throttling"
            | "RequestLimitExceeded"
            | "TransactionConflictException"
            | "TransactionConflict"
            | "TransactionInProgressException"
            | "InternalServerError"
            | "InternalFailure"
            | "ServiceUnavailable"
    )
}

fn is_misconfiguration(code: &str) -> bool {
    matches!(
        code,
        "ResourceNotFoundException"
            | "AccessDeniedException"
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "IncompleteSignature"
            | "ExpiredTokenException"
            | "ExpiredToken"
            | "MissingAuthenticationToken"
            | "MissingAuthenticationTokenException"
            | "OptInRequired"
    )
}

/// Classifies an error. `what` is the operation, such as "claim"; `place` names the service without credentials.
pub(crate) fn classify<E>(place: &str, what: &str, cause: SdkError<E>) -> RequestError
where
    E: ProvideErrorMetadata + std::error::Error + Send + Sync + 'static,
{
    let code = cause.code().unwrap_or_default().to_owned();
    let (class, text) = match &cause {
        SdkError::TimeoutError(_) => (Class::Transient, "no answer in time".to_owned()),
        SdkError::DispatchFailure(failure) if failure.is_other() && !is_connection_lost(failure) => {
            let text = format!("the request could not be made: {}", cause_chain(&cause));
            (Class::Misconfigured, text)
        }
        SdkError::DispatchFailure(_) | SdkError::ResponseError(_) => {
            (Class::Transient, format!("it can't be reached: {}", cause_chain(&cause)))
        }
        SdkError::ConstructionFailure(_) => {
            (Class::Misconfigured, format!("the request could not be made: {}", cause_chain(&cause)))
        }
        _ => {
            let message = cause.message().unwrap_or("no message");
            let class = match code.as_str() {
                code if is_throttling(code) => Class::Transient,
                code if is_misconfiguration(code) => Class::Misconfigured,
                "" => Class::Transient,
                _ => Class::Permanent,
            };
            (class, format!("{code}: {message}"))
        }
    };
    let error = Error::new(class, format!("{place}: could not {what}: {text}"));
    let unanswered = match &cause {
        SdkError::TimeoutError(_) | SdkError::ResponseError(_) => true,
        SdkError::DispatchFailure(failure) => is_connection_lost(failure),
        _ => false,
    };
    RequestError { error: error.caused_by(cause), throttled: is_throttling(&code), unanswered }
}

/// Whether the connection ended during the request, so that it may have taken effect.
fn is_connection_lost(failure: &DispatchFailure) -> bool {
    failure.as_connector_error().is_some_and(postrider_aws::is_connection_lost)
}

/// Returns the causes, outermost first; the SDK's messages hold no credentials.
fn cause_chain<E: std::error::Error + 'static>(cause: &SdkError<E>) -> String {
    let mut texts = Vec::new();
    let mut source = cause.source();
    while let Some(error) = source {
        texts.push(error.to_string());
        source = error.source();
    }
    texts.join(": ")
}

pub(crate) fn no_such_move(name: &str) -> Error {
    Error::new(Class::Permanent, format!("the contract has no `{name}`"))
}

pub(crate) fn unknown_state(name: &str) -> Error {
    Error::new(Class::Permanent, format!("the contract has no state `{name}`"))
}

pub(crate) fn not_searched(by: &str) -> Error {
    Error::new(Class::Permanent, format!("a table of DynamoDB can't be searched by {by}: only by a whole id"))
}
