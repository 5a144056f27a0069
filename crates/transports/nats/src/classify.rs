//! What an error of a publication means for the record.

use std::error::Error as _;

use async_nats::jetstream::context::{PublishError, PublishErrorKind as Kind};
use async_nats::jetstream::{self, ErrorCode};
use postrider_broker::{rejected, shorten, uncertain, unreachable};
use postrider_seams::{Failure, Outcome};

#[cfg(test)]
mod tests;

/// JetStream's own code for headers over the stream's limit; the client library has no name for it.
const HEADER_TOO_LARGE: ErrorCode = ErrorCode(10097);
/// A stream that takes nothing more, ever.
const SEALED: ErrorCode = ErrorCode(10109);

/// `None` where no stream answered: somebody must ask why.
pub(crate) fn outcome(error: &PublishError) -> Option<Outcome> {
    Some(match error.kind() {
        Kind::StreamNotFound => return None,
        Kind::MaxPayloadExceeded => rejected(words(error)),
        Kind::TimedOut => uncertain("no acknowledgement in time"),
        Kind::BrokenPipe => uncertain("the connection ended before the acknowledgement"),
        Kind::MaxAckPending => Outcome::Retryable(Failure::new("too many records wait for acknowledgements")),
        Kind::WrongLastMessageId | Kind::WrongLastSequence | Kind::Other => answered(error),
    })
}

fn answered(error: &PublishError) -> Outcome {
    let Some(answer) = error.source().and_then(|source| source.downcast_ref::<jetstream::Error>()) else {
        // An answer that can't be read: a stream may have stored it.
        return uncertain(words(error));
    };
    refusal(answer.error_code(), answer.to_string())
}

fn refusal(code: ErrorCode, words: String) -> Outcome {
    match code {
        ErrorCode::STREAM_MESSAGE_EXCEEDS_MAXIMUM | HEADER_TOO_LARGE | SEALED => rejected(words),
        _ => Outcome::Retryable(Failure::new(shorten(words))),
    }
}

/// Nobody listens on the subject. `stream` is what JetStream says when asked which stream does.
pub(crate) fn unheard(subject: &str, stream: Result<Option<String>, String>) -> Outcome {
    match stream {
        Ok(None) => rejected(format!("no stream takes the subject {subject}")),
        Ok(Some(stream)) => {
            let reason = format!("stream {stream} takes the subject {subject}, but has no leader now");
            Outcome::Retryable(Failure::new(shorten(reason)))
        }
        Err(why) => unreachable(format!("JetStream does not answer: {why}")),
    }
}

/// A record was published, and no acknowledgement came in time. `stream` is what JetStream says when asked which stream
/// takes the subject, if it answers.
pub(crate) fn unacknowledged(subject: &str, stream: &Result<Option<String>, ()>) -> Outcome {
    match stream {
        Ok(None) => {
            rejected(format!("no stream takes the subject {subject}: it has subscribers, and none stores it"))
        }
        Ok(Some(_)) | Err(()) => uncertain("no acknowledgement in time (ack_timeout)"),
    }
}

fn words(error: &PublishError) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
