//! Sends requests to DynamoDB and repeats them where that helps.
//!
//! Invariant: a throttled request is repeated with growing random pauses, within the caller's time limit. If the
//! service cannot be reached, the error is returned at once, because the engine has its own backoff.

use std::collections::HashMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::execute_transaction::ExecuteTransactionError;
use aws_sdk_dynamodb::types::{AttributeValue, CancellationReason, ParameterizedStatement};
use futures::{StreamExt as _, stream};
use postrider_seams::store::{Class, Error};
use tokio::time::Instant;

use crate::connect::Database;
use crate::error::{RequestError, classify, is_throttling};
use crate::statement::PartiqlStatement;

/// One record as DynamoDB returns it.
pub(crate) type Item = HashMap<String, AttributeValue>;

/// Time limit for repeating throttled reads, which the engine can also repeat.
pub(crate) const RETRY_TIME: Duration = Duration::from_secs(5);

/// Time limit for repeating writes without an answer, under the same token. It is short because the engine must soon
/// learn that the service is unavailable.
const UNANSWERED_RETRY_TIME: Duration = Duration::from_secs(10);

const MIN_RETRY_DELAY: Duration = Duration::from_millis(50);
const MAX_RETRY_DELAY: Duration = Duration::from_secs(5);

/// The number of requests sent so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Usage {
    /// `ExecuteStatement` requests that read.
    pub reads: u64,
    /// `ExecuteTransaction` requests, and `ExecuteStatement` requests that write.
    pub writes: u64,
}

/// The result of a conditional write.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum WriteResult {
    Done,
    /// Nothing was written. Says for each statement whether its condition, or an existing record, refused it.
    Refused(Vec<bool>),
}

impl Database {
    /// Returns the number of requests sent so far.
    pub fn usage(&self) -> Usage {
        Usage { reads: self.reads.load(Relaxed), writes: self.writes.load(Relaxed) }
    }

    /// Sends several requests in parallel, within the limit of the settings; returns the answers in order.
    pub(crate) async fn in_parallel<R: Future>(&self, requests: Vec<R>) -> Vec<R::Output> {
        stream::iter(requests).buffered(self.settings.requests).collect().await
    }

    /// Reads one page of a SELECT; returns the token of the next page with it.
    pub(crate) async fn select(
        &self,
        what: &str,
        statement: &PartiqlStatement,
        token: Option<&str>,
        limit: Option<i32>,
    ) -> Result<(Vec<Item>, Option<String>), Error> {
        let place = self.settings.place();
        retry_throttled(RETRY_TIME, || async {
            self.reads.fetch_add(1, Relaxed);
            let request = self
                .client()
                .await
                .execute_statement()
                .statement(&statement.text)
                .set_parameters(statement.parameters())
                .set_next_token(token.map(str::to_owned))
                .set_limit(limit)
                .set_consistent_read(statement.consistent.then_some(true));
            let response = request.send().await.map_err(|cause| classify(&place, what, cause))?;
            Ok((response.items.unwrap_or_default(), response.next_token))
        })
        .await
    }

    /// Writes all statements or none, each under its own condition.
    pub(crate) async fn write(
        &self,
        what: &str,
        statements: &[PartiqlStatement],
        time_limit: Duration,
    ) -> Result<WriteResult, Error> {
        let place = self.settings.place();
        // One token for all repetitions, so that a write whose answer was lost is not made twice.
        let token = format!("{:032x}", rand::random::<u128>());
        let begun = Instant::now();
        retry_throttled(time_limit, || async {
            self.writes.fetch_add(1, Relaxed);
            let mut request = self.client().await.execute_transaction().client_request_token(&token);
            for statement in statements {
                let built = ParameterizedStatement::builder()
                    .statement(&statement.text)
                    .set_parameters(statement.parameters())
                    .build()
                    .expect("a statement has its text");
                request = request.transact_statements(built);
            }
            let written = request.send().await.map(|_| WriteResult::Done);
            // No answer came: the request can be repeated under the same token and takes effect once.
            written.or_else(|cause| cancelled(&place, what, cause)).map_err(|request_error| {
                let repeat = request_error.unanswered && begun.elapsed() < UNANSWERED_RETRY_TIME;
                RequestError { throttled: request_error.throttled || repeat, ..request_error }
            })
        })
        .await
    }
}

/// Interprets a cancelled transaction: it is a valid result if conditions were its only cause.
fn cancelled(
    place: &str,
    what: &str,
    cause: SdkError<ExecuteTransactionError>,
) -> Result<WriteResult, RequestError> {
    let reasons: Vec<String> = match cause.as_service_error() {
        Some(ExecuteTransactionError::TransactionCanceledException(cancelled)) => {
            let code = |reason: &CancellationReason| reason.code().unwrap_or("None").to_owned();
            cancelled.cancellation_reasons().iter().map(code).collect()
        }
        _ => return Err(classify(place, what, cause)),
    };
    let refused: Vec<bool> = reasons.iter().map(|code| is_refusal(code)).collect();
    if let Some(code) = reasons.iter().find(|code| is_throttling(code)) {
        let text = format!("{place}: could not {what}: {code}");
        let error = Error::new(Class::Transient, text).caused_by(cause);
        return Err(RequestError { error, throttled: true, unanswered: false });
    }
    if refused.contains(&true) {
        return Ok(WriteResult::Refused(refused));
    }
    let text = format!("{place}: could not {what}: cancelled for {}", reasons.join(", "));
    let error = Error::new(Class::Permanent, text).caused_by(cause);
    Err(RequestError { error, throttled: false, unanswered: false })
}

/// Whether the condition or an existing record refused the write. AWS and its emulators use codes with and without the
/// suffix.
fn is_refusal(code: &str) -> bool {
    let code = code.strip_suffix("Exception").unwrap_or(code);
    matches!(code, "ConditionalCheckFailed" | "DuplicateItem")
}

/// Repeats a call while the service throttles it and there is time.
pub(crate) async fn retry_throttled<T, F, R>(time_limit: Duration, send: F) -> Result<T, Error>
where
    F: Fn() -> R,
    R: Future<Output = Result<T, RequestError>>,
{
    let until = Instant::now() + time_limit;
    let mut delay = MIN_RETRY_DELAY;
    loop {
        match send().await {
            Ok(answer) => return Ok(answer),
            Err(request_error) if request_error.throttled && Instant::now() + delay < until => {
                // Full jitter: workers that were throttled together do not retry together.
                tokio::time::sleep(delay.mul_f64(rand::random_range(0.0..=1.0))).await;
                delay = (delay * 2).min(MAX_RETRY_DELAY);
            }
            Err(request_error) => return Err(request_error.error),
        }
    }
}

#[cfg(test)]
mod tests;
