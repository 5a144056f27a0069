//! Classifies errors, returned messages and refusals of an AMQP broker.

use lapin::message::BasicReturnMessage;
use lapin::protocol::{AMQPError, AMQPErrorKind, AMQPHardError, AMQPSoftError};
use lapin::{Error, ErrorKind};
use postrider_seams::outcome::{rejected, shorten, uncertain};
use postrider_seams::{Failure, Outcome, is_caused_by_exhaustion};

use crate::encode::Route;
use crate::error::ConnectError;

#[cfg(test)]
mod tests;

/// Classifies the error of a connect.
pub(crate) fn connect_error(error: &Error, target: &str) -> ConnectError {
    match error.kind() {
        ErrorKind::ProtocolError(error) if is_refusal(error.kind()) => {
            ConnectError::Refused(format!("{target} refuses us: {}", error.get_message()))
        }
        ErrorKind::AuthProviderError(reason) => {
            ConnectError::Refused(format!("{target} refuses us: {reason}"))
        }
        ErrorKind::IOError(error) if error.to_string().contains("certificate") => ConnectError::Refused(
            format!("{target}: {error}: fix the certificate, or name its authority in ca_file"),
        ),
        ErrorKind::IOError(error) if is_caused_by_exhaustion(&**error) => {
            ConnectError::Exhausted(format!("{target}: {error}"))
        }
        _ => ConnectError::Unreachable(format!("{target}: {error}")),
    }
}

/// Whether the error is a wrong password, a vhost without access, or a limit that an operator has set.
fn is_refusal(kind: &AMQPErrorKind) -> bool {
    matches!(
        kind,
        AMQPErrorKind::Soft(AMQPSoftError::ACCESSREFUSED)
            | AMQPErrorKind::Hard(AMQPHardError::NOTALLOWED | AMQPHardError::INVALIDPATH)
    )
}

/// Returns the error with which the broker closed the channel because of a message.
pub(crate) fn channel_error(error: &Error) -> Option<&AMQPError> {
    match error.kind() {
        ErrorKind::ProtocolError(error) if matches!(error.kind(), AMQPErrorKind::Soft(_)) => Some(error),
        _ => None,
    }
}

/// Whether the broker's error is about a message like this one.
pub(crate) fn concerns(channel_error: &AMQPError, route: &Route, payload: usize) -> bool {
    let text = channel_error.get_message().as_str();
    text.contains(&format!("exchange '{}'", route.exchange))
        || text.contains(&format!("message size {payload} "))
}

pub(crate) fn rejected_by_broker(channel_error: &AMQPError) -> Outcome {
    rejected(channel_error.get_message().as_str())
}

pub(crate) fn returned_message(message: &BasicReturnMessage, route: &Route) -> Outcome {
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

pub(crate) fn unconfirmed(error: &Error) -> Outcome {
    uncertain(shorten(format!("the channel ended before the confirm: {error}")))
}
