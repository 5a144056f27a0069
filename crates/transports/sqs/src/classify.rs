//! Classifies errors of SQS, for one entry and for a whole request.

use std::error::Error as StdError;

use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use postrider_broker::{exhausted, rejected, shorten, uncertain, unreachable};
use postrider_seams::{Failure, Outcome, is_caused_by_exhaustion};

#[cfg(test)]
mod tests;

/// Returns the outcome of one entry of a batch that SQS answered with an error.
pub(crate) fn entry(sender_fault: bool, code: &str, message: &str) -> Outcome {
    let words = format!("{code}: {message}");
    if sender_fault { by_code(code, words).unwrap_or_else(rejected) } else { retryable(words) }
}

/// Returns the outcome of a failed request, which applies to all its entries.
pub fn request<E, R>(error: &SdkError<E, R>) -> Outcome
where
    E: ProvideErrorMetadata + StdError + 'static,
    R: std::fmt::Debug + 'static,
{
    let chain = chain(error);
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

/// Returns the outcome of a code that means the same everywhere; `Err` returns the text if the code says nothing.
fn by_code(code: &str, words: String) -> Result<Outcome, String> {
    // Codes may come with a namespace: `AWS.SimpleQueueService.NonExistentQueue`, `com.amazonaws…#QueueDoesNotExist`.
    let code = code.rsplit(['.', '#']).next().unwrap_or(code);
    match code {
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
        | "MissingParameter" => Ok(rejected(words)),
        "InvalidClientTokenId"
        | "UnrecognizedClientException"
        | "SignatureDoesNotMatch"
        | "InvalidSignatureException"
        | "ExpiredToken"
        | "ExpiredTokenException"
        | "MissingAuthenticationToken"
        | "IncompleteSignature"
        | "InvalidSecurity"
        | "OptInRequired" => Ok(refused(words)),
        "RequestThrottled"
        | "ThrottlingException"
        | "Throttling"
        | "OverLimit"
        | "ServiceUnavailable"
        | "InternalError"
        | "InternalFailure"
        | "KmsThrottled" => Ok(retryable(words)),
        _ => Err(words),
    }
}

fn retryable(words: String) -> Outcome {
    Outcome::Retryable(Failure::new(shorten(words)))
}

fn refused(words: String) -> Outcome {
    Outcome::Refused(Failure::new(shorten(words)))
}

/// Returns the error and its causes on one line.
fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut words = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let text = error.to_string();
        if !words.ends_with(&text) {
            words.push_str(": ");
            words.push_str(&text);
        }
        cause = error.source();
    }
    words
}
