//! Classifies errors, returned messages and refusals of an AMQP broker.

use lapin::message::BasicReturnMessage;
use lapin::protocol::{AMQPError, AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::{Error, ErrorKind};
use postrider_broker::{rejected, shorten, uncertain};
use postrider_seams::{Failure, Outcome, is_caused_by_exhaustion};

use crate::encode::Route;
use crate::error::Fault;

#[cfg(test)]
mod tests;

/// Classifies the error of a connect.
pub(crate) fn connection(error: &Error, target: &str) -> Fault {
    match error.kind() {
        ErrorKind::ProtocolError(error) if is_about_us(error.kind()) => {
            Fault::Refused(format!("{target} refuses us: {}", error.get_message()))
        }
        ErrorKind::AuthProviderError(reason) => Fault::Refused(format!("{target} refuses us: {reason}")),
        ErrorKind::IOError(error) if error.to_string().contains("certificate") => Fault::Refused(format!(
            "{target}: {error}: fix the certificate, or name its authority in ca_file"
        )),
        ErrorKind::IOError(error) if is_caused_by_exhaustion(&**error) => {
            Fault::Exhausted(format!("{target}: {error}"))
        }
        _ => Fault::Unreachable(format!("{target}: {error}")),
    }
}

/// Whether the error is a wrong password, a vhost without access, or a limit that an operator has set.
fn is_about_us(kind: &AMQPErrorKind) -> bool {
    matches!(
        kind,
        AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED)
            | AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED | AMQPHardError::INVALIDPATH)
    )
}

/// Returns the error with which the broker closed the channel because of a message.
pub(crate) fn complaint(error: &Error) -> Option<&AMQPError> {
    match error.kind() {
        ErrorKind::ProtocolError(error) if matches!(error.kind(), AMQPErrorKind::Soft(_)) => Some(error),
        _ => None,
    }
}

/// Whether the broker's error is about a message like this one.
pub(crate) fn is_about(complaint: &AMQPError, route: &Route, payload: usize) -> bool {
    let words = complaint.get_message().as_str();
    words.contains(&format!("exchange '{}'", route.exchange))
        || words.contains(&format!("message size {payload} "))
}

pub(crate) fn refused(complaint: &AMQPError) -> Outcome {
    rejected(complaint.get_message().as_str())
}

pub(crate) fn returned(message: &BasicReturnMessage, route: &Route) -> Outcome {
    let to = if route.exchange.is_empty() { "the default exchange" } else { route.exchange.as_str() };
    rejected(format!(
        "returned by the broker: {} {} ({to}, routing key {})",
        message.reply_code, message.reply_text, route.key
    ))
}

/// Returns the outcome of a nack: the broker could not accept the message, for example because a queue is full.
pub(crate) fn nack() -> Outcome {
    Outcome::Retryable(Failure::new(
        "the broker answered with a nack: a queue is full, or could not store it",
    ))
}

pub(crate) fn lost(error: &Error) -> Outcome {
    uncertain(shorten(format!("the channel ended before the confirm: {error}")))
}
