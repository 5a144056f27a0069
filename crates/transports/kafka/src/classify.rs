//! Classifies the error codes of Kafka deliveries.

use postrider_broker::{exhausted, rejected, shorten, uncertain, unreachable};
use postrider_seams::{Failure, Outcome};
use rdkafka::error::RDKafkaErrorCode as Code;

#[cfg(test)]
mod tests;

/// Facts about a failed delivery other than its code.
#[derive(Debug, Default)]
pub(crate) struct Circumstances {
    /// Whether no connection was up from the record's queueing to its report.
    pub never_sent: bool,
    /// The reason why the cluster refuses us, if it does.
    pub refusal: Option<String>,
    /// The last error of the connections.
    pub trouble: Option<String>,
    /// The error that ended the producer, if one did.
    pub fatal: Option<(Code, String)>,
}

/// Returns the outcome of a record whose delivery failed with this code.
pub(crate) fn outcome(code: Code, about: &Circumstances) -> Outcome {
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
        | Code::UnsupportedForMessageFormat => rejected(words(code)),
        Code::Authentication
        | Code::SaslAuthenticationFailed
        | Code::UnsupportedSASLMechanism
        | Code::ClusterAuthorizationFailed
        | Code::TransactionalIdAuthorizationFailed => refused(words(code)),
        // The producer dropped these before they were sent: they were not attempted.
        Code::PurgeQueue => given_up(about),
        Code::MessageTimedOut | Code::TimedOutQueue if about.never_sent => not_sent(about),
        Code::MessageTimedOut
        | Code::TimedOutQueue
        | Code::PurgeInflight
        | Code::BrokerTransportFailure
        | Code::RequestTimedOut
        | Code::NetworkException
        | Code::NotEnoughReplicasAfterAppend
        | Code::OutOfOrderSequenceNumber
        | Code::UnknownProducerId => uncertain(with_trouble(words(code), about)),
        Code::Fatal => ended(about),
        _ => Outcome::Retryable(Failure::new(words(code))),
    }
}

/// Whether the code concerns a whole request, in which most records may be valid.
pub(crate) fn is_of_the_request(code: Code) -> bool {
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
fn not_sent(about: &Circumstances) -> Outcome {
    match (&about.refusal, &about.trouble) {
        (Some(refusal), _) => refused(refusal.clone()),
        (None, Some(trouble)) if is_exhausted(trouble) => exhausted(trouble.as_str()),
        (None, _) => unreachable(with_trouble("no broker could be reached in time".to_owned(), about)),
    }
}

/// Whether this machine has run out of descriptors, memory or local ports. The client library reports it as text only.
fn is_exhausted(trouble: &str) -> bool {
    [
        "Too many open files",
        "Cannot allocate memory",
        "No buffer space available",
        "Cannot assign requested address",
    ]
    .iter()
    .any(|words| trouble.contains(words))
}

fn given_up(about: &Circumstances) -> Outcome {
    if about.refusal.is_some() || about.never_sent {
        return not_sent(about);
    }
    let reason = "not sent: a record before it got no answer, and order is kept";
    Outcome::Deferred(Failure::new(with_trouble(reason.to_owned(), about)))
}

fn ended(about: &Circumstances) -> Outcome {
    match &about.fatal {
        Some((Code::ClusterAuthorizationFailed | Code::TransactionalIdAuthorizationFailed, reason)) => {
            refused(format!("the cluster refuses us: {reason}"))
        }
        Some((code, reason)) => uncertain(format!("the producer had to end: {}: {reason}", words(*code))),
        None => uncertain("the producer had to end"),
    }
}

fn refused(reason: String) -> Outcome {
    Outcome::Refused(Failure::new(shorten(reason)))
}

fn with_trouble(reason: String, about: &Circumstances) -> String {
    match &about.trouble {
        Some(trouble) => format!("{reason} ({trouble})"),
        None => reason,
    }
}

/// Returns the description and number of a code, as the broker's documentation lists them.
fn words(code: Code) -> String {
    format!("{code}")
}
