//! Classifies errors of SQS, for one entry and for a whole request.

use std::error::Error as StdError;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use postrider_seams::error_chain;
use postrider_seams::outcome::{exhausted, rejected, shorten, uncertain, unreachable};
use postrider_seams::{Failure, Outcome, is_caused_by_exhaustion};

#[cfg(test)]
mod tests;

/// Returns the outcome of one entry of a batch that SQS answered with an error.
pub(crate) fn entry(sender_fault: bool, code: &str, message: &str) -> Outcome {
    let text = format!("{code}: {message}");
    if sender_fault { by_code(code, text).unwrap_or_else(rejected) } else { retryable(text) }
}

/// Returns the outcome of a failed request, which applies to all its entries.
pub fn request<E, R>(error: &SdkError<E, R>) -> Outcome
where
    E: ProvideErrorMetadata + StdError + 'static,
    R: std::fmt::Debug + 'static,
{
    let chain = error_chain(error);
    match error {
        SdkError::ServiceError(answer) => {
            let code = answer.err().code().unwrap_or("unknown");
            let message = answer.err().message().unwrap_or("no reason given");
            by_code(code, format!("{code}: {message}")).unwrap_or_else(retryable)
        }
        _ if chain.to_ascii_lowercase().contains("credential") => refused(chain),
        SdkError::ConstructionFailure(_) => refused(chain),
        SdkError::DispatchFailure(failure) if failure.is_user() => refused(chain),
        SdkError::DispatchFailure(_) if is_caused_by_exhaustion(error) => exhausted(chain),
        // No connection was made: nothing was sent.
        SdkError::DispatchFailure(_) if chain.contains("(Connect)") || chain.contains("dns error") => {
            unreachable(chain)
        }
        SdkError::TimeoutError(_) if chain.contains("connect timeout") => unreachable(chain),
        _ => uncertain(chain),
    }
}

/// Whether the service accepts our credentials, and denies them this request.
pub(crate) fn denies_access<E, R>(error: &SdkError<E, R>) -> bool
where
    E: ProvideErrorMetadata,
{
    let code = error.as_service_error().and_then(ProvideErrorMetadata::code).map(without_namespace);
    matches!(code, Some("AccessDenied" | "AccessDeniedException"))
}

/// Returns the code of `AWS.SimpleQueueService.NonExistentQueue` or `com.amazonaws.sqs#QueueDoesNotExist`.
fn without_namespace(code: &str) -> &str {
    code.rsplit(['.', '#']).next().unwrap_or(code)
}

/// Returns the outcome of a code that means the same everywhere; `Err` returns the text if the code says nothing.
fn by_code(code: &str, text: String) -> Result<Outcome, String> {
    match without_namespace(code) {
        "QueueDoesNotExist"
        | "NonExistentQueue"
        | "InvalidAddress"
        | "AccessDenied"
        | "AccessDeniedException"
        | "InvalidMessageContents"
        | "BatchRequestTooLong"
        | "InvalidParameterValue"
        | "UnsupportedOperation"
        | "InvalidAttributeValue"
        | "MissingParameter" => Ok(rejected(text)),
        "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "MissingAuthenticationToken"
        | "IncompleteSignature"
        | "InvalidSecurity"
        | "OptInRequired" => Ok(refused(text)),
        "RequestThrottled"
        | "ThrottlingException"
        | "Throttling"
        | "OverLimit"
        | "ServiceUnavailable"
        | "InternalError"
        | "InternalFailure"
        | "KmsThrottled" => Ok(retryable(text)),
        _ => Err(text),
    }
}

fn retryable(text: String) -> Outcome {
    Outcome::Retryable(Failure::new(shorten(text)))
}

fn refused(text: String) -> Outcome {
    Outcome::Refused(Failure::new(shorten(text)))
}
