//! The clock of the store. DynamoDB has no clock that a statement could use, but each of its answers has a `Date`
//! header. While the local clock agrees with it, the local clock is used, because it is finer; otherwise it is
//! corrected.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering::Relaxed};
use std::time::{Duration, UNIX_EPOCH};

use aws_sdk_dynamodb::config::interceptors::BeforeDeserializationInterceptorContextRef;
use aws_sdk_dynamodb::config::{ConfigBag, Intercept, RuntimeComponents};
use aws_sdk_dynamodb::error::BoxError;
use aws_sdk_dynamodb::primitives::{DateTime, DateTimeFormat};

/// Microseconds by which the clocks may differ and still agree: a `Date` has whole seconds, and answers take time.
const MAX_DIFFERENCE: i64 = 2_000_000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Clock {
    /// The service's time minus ours, in microseconds; 0 while they agree.
    offset: Arc<AtomicI64>,
}

impl Clock {
    /// Returns the current time in microseconds since 1970.
    pub(crate) fn now(&self) -> i64 {
        local_now() + self.offset.load(Relaxed)
    }

    /// Returns by how many microseconds the service's clock is ahead of ours, by its last answer.
    pub(crate) fn offset(&self) -> i64 {
        self.offset.load(Relaxed)
    }

    fn record_date(&self, date: &str) {
        let Ok(date) = DateTime::from_str(date, DateTimeFormat::HttpDate) else { return };
        // Assume the middle of the second.
        let offset = date.secs() * 1_000_000 + 500_000 - local_now();
        self.offset.store(if offset.abs() > MAX_DIFFERENCE { offset } else { 0 }, Relaxed);
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock: DynamoDB has none that a statement could name"
)]
fn local_now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

impl Intercept for Clock {
    fn name(&self) -> &'static str {
        "clock"
    }

    fn read_before_deserialization(
        &self,
        context: &BeforeDeserializationInterceptorContextRef<'_>,
        _components: &RuntimeComponents,
        _config: &mut ConfigBag,
    ) -> Result<(), BoxError> {
        if let Some(date) = context.response().headers().get("date") {
            self.record_date(date);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g05_a_clock_that_is_wrong_is_corrected_and_one_that_is_right_is_kept() {
        let clock = Clock::default();
        let text = |micros: i64| {
            DateTime::from_secs(micros / 1_000_000).fmt(DateTimeFormat::HttpDate).expect("a date of today")
        };
        clock.record_date(&text(local_now()));
        assert_eq!(clock.offset.load(Relaxed), 0);
        clock.record_date(&text(local_now() - 600_000_000));
        assert!((clock.now() - local_now() + 600_000_000).abs() < MAX_DIFFERENCE, "ten minutes slow");
        clock.record_date(&text(local_now()));
        assert!((clock.now() - local_now()).abs() < 1000, "right again");
        clock.record_date("no date");
    }
}
