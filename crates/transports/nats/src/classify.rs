//! Classifies errors of a publication.

use std::error::Error as _;

use async_nats::jetstream::context::{PublishError, PublishErrorKind as Kind};
use async_nats::jetstream::{self, ErrorCode};
use postrider_seams::outcome::{rejected, shorten, uncertain, unreachable};
use postrider_seams::{Failure, Outcome};

#[cfg(test)]
mod tests;

/// JetStream's code for headers over the stream's limit; the client library has no name for it.
const HEADER_TOO_LARGE: ErrorCode = ErrorCode(10097);
/// JetStream's code for a sealed stream, which accepts no more messages.
const SEALED: ErrorCode = ErrorCode(10109);

/// Returns the outcome of an error, `None` if no stream answered and the reason must be queried.
pub(crate) fn outcome(error: &PublishError) -> Option<Outcome> {
    Some(match error.kind() {
        Kind::StreamNotFound => return None,
        Kind::MaxPayloadExceeded => rejected(text(error)),
        Kind::TimedOut => uncertain("no acknowledgement in time"),
        Kind::BrokenPipe => uncertain("the connection ended before the acknowledgement"),
        Kind::MaxAckPending => Outcome::Retryable(Failure::new("too many records wait for acknowledgements")),
        Kind::WrongLastMessageId | Kind::WrongLastSequence | Kind::Other => stream_error(error),
    })
}

fn stream_error(error: &PublishError) -> Outcome {
    let Some(stream_error) = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>())
    else {
        // The acknowledgement is unreadable: a stream may have stored the record.
        return uncertain(text(error));
    };
    by_code(stream_error.error_code(), stream_error.to_string())
}

fn by_code(code: ErrorCode, text: String) -> Outcome {
    match code {
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM | HEADER_TOO_LARGE | SEALED => rejected(text),
        _ => Outcome::Retryable(Failure::new(shorten(text))),
    }
}

/// Returns the outcome if no stream has the subject. `stream` is JetStream's answer to which stream has it.
pub(crate) fn no_stream_answered(subject: &str, stream: Result<Option<String>, String>) -> Outcome {
    match stream {
        Ok(None) => rejected(format!("no stream has the subject {subject}")),
        Ok(Some(stream)) => {
            let reason = format!("stream {stream} has the subject {subject}, but has no leader now");
            Outcome::Retryable(Failure::new(shorten(reason)))
        }
        Err(reason) => unreachable(format!("JetStream does not answer: {reason}")),
    }
}

/// Returns the outcome of a published record without an acknowledgement in time. `stream` is JetStream's answer to
/// which stream has the subject, if it answers.
pub(crate) fn unacknowledged(subject: &str, stream: &Result<Option<String>, ()>) -> Outcome {
    match stream {
        Ok(None) => rejected(format!("no stream has the subject {subject}; its subscribers do not store it")),
        Ok(Some(_)) | Err(()) => uncertain("no acknowledgement in time (ack_timeout)"),
    }
}

fn text(error: &PublishError) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
