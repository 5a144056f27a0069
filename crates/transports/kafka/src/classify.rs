//! Classifies the error codes of Kafka deliveries.

use postrider_seams::outcome::{exhausted, rejected, shorten, uncertain, unreachable};
use postrider_seams::{Failure, Outcome};
use rdkafka::error::RDKafkaErrorCode as Code;

#[cfg(test)]
mod tests;

/// Facts about a failed delivery other than its code.
#[derive(Debug, Default)]
pub(crate) struct FailureContext {
    /// Whether no connection was up from the record's queueing to its report.
    pub never_sent: bool,
    /// The reason why the cluster refuses us, if it does.
    pub refusal: Option<String>,
    /// The last error of the connections.
    pub last_error: Option<String>,
    /// The error that ended the producer, if one did.
    pub fatal: Option<(Code, String)>,
}

/// Returns the outcome of a record whose delivery failed with this code.
pub(crate) fn outcome(code: Code, context: &FailureContext) -> Outcome {
    match code {
        Code::UnknownTopicOrPartition
        | Code::UnknownTopic
        | Code::UnknownPartition
        | Code::InvalidTopic
        | Code::TopicAuthorizationFailed
        | Code::MessageSizeTooLarge
        | Code::MessageBatchTooLarge
        | Code::InvalidMessageSize
        | Code::InvalidRecord
        | Code::InvalidTimestamp
        | Code::PolicyViolation
        | Code::UnsupportedForMessageFormat => rejected(description(code)),
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed => refused(description(code)),
        // The producer dropped these before they were sent: they were not attempted.
        Code::PurgeQueue => purged(context),
        Code::MessageTimedOut | Code::TimedOutQueue if context.never_sent => not_sent(context),
        Code::MessageTimedOut
        | Code::TimedOutQueue
        | Code::PurgeInflight
        | Code::BrokerTransportFailure
        | Code::RequestTimedOut
        | Code::NetworkException
        | Code::NotEnoughReplicasAfterAppend
        | Code::OutOfOrderSequenceNumber
        | Code::UnknownProducerId => uncertain(with_last_error(description(code), context)),
        Code::Fatal => producer_ended(context),
        _ => Outcome::Retryable(Failure::new(description(code))),
    }
}

/// Whether the code concerns a whole request, in which most records may be valid.
pub(crate) fn applies_to_request(code: Code) -> bool {
    matches!(
        code,
        Code::MessageSizeTooLarge
            | Code::MessageBatchTooLarge
            | Code::InvalidMessageSize
            | Code::InvalidRecord
            | Code::InvalidDifferentRecord
            | Code::InvalidTimestamp
            | Code::PolicyViolation
    )
}

/// Returns the outcome of a record that was never sent for lack of a connection.
fn not_sent(context: &FailureContext) -> Outcome {
    match (&context.refusal, &context.last_error) {
        (Some(refusal), _) => refused(refusal.clone()),
        (None, Some(last_error)) if is_exhausted(last_error) => exhausted(last_error.as_str()),
        (None, _) => unreachable(with_last_error("no broker could be reached in time".to_owned(), context)),
    }
}

/// Whether this machine has run out of descriptors, memory or local ports. The client library reports it as text only.
fn is_exhausted(last_error: &str) -> bool {
    [
        "Too many open files",
        "Cannot allocate memory",
        "No buffer space available",
        "Cannot assign requested address",
    ]
    .iter()
    .any(|text| last_error.contains(text))
}

fn purged(context: &FailureContext) -> Outcome {
    if context.refusal.is_some() || context.never_sent {
        return not_sent(context);
    }
    let reason = "not sent: a record before it got no answer, and order is kept";
    Outcome::Deferred(Failure::new(with_last_error(reason.to_owned(), context)))
}

fn producer_ended(context: &FailureContext) -> Outcome {
    match &context.fatal {
        Some((Code::ClusterAuthorizationFailed | Code::TransactionalIdAuthorizationFailed, reason)) => {
            refused(format!("the cluster refuses us: {reason}"))
        }
        Some((code, reason)) => {
            uncertain(format!("the producer had to end: {}: {reason}", description(*code)))
        }
        None => uncertain("the producer had to end"),
    }
}

fn refused(reason: String) -> Outcome {
    Outcome::Refused(Failure::new(shorten(reason)))
}

fn with_last_error(reason: String, context: &FailureContext) -> String {
    match &context.last_error {
        Some(last_error) => format!("{reason} ({last_error})"),
        None => reason,
    }
}

/// Returns the description and number of a code, as the broker's documentation lists them.
fn description(code: Code) -> String {
    format!("{code}")
}
