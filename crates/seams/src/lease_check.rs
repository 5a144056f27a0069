//! Lets a transport check a row's lease and report early deliveries.
//!
//! An envelope may wait in a transport for a connection, a slot or a rate limit, and the process may be suspended
//! meanwhile. Once the lease has run out, another worker may have sent the row: the transport checks that right before
//! it sends. An envelope may be delivered long before the others of its call: the transport reports that at once.

use std::fmt;
use std::sync::Arc;

use crate::{Envelope, Failure, Outcome, Receipt};

/// A check that follows the lease of a row and its extensions. The default always holds and ignores reports: for
/// envelopes without a row.
#[derive(Clone, Default)]
pub struct LeaseCheck {
    holds: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
    delivered: Option<Arc<dyn Fn(Receipt) + Send + Sync>>,
}

impl LeaseCheck {
    /// Creates a check. `holds` is called often, from any thread: it must not block.
    pub fn new(holds: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Self { holds: Some(Arc::new(holds)), delivered: None }
    }

    /// Calls `delivered` when the transport reports the envelope as delivered. It must not block.
    #[must_use]
    pub fn reporting(self, delivered: impl Fn(Receipt) + Send + Sync + 'static) -> Self {
        Self { delivered: Some(Arc::new(delivered)), ..self }
    }

    /// Whether the lease is held and has enough time left to begin.
    pub fn holds(&self) -> bool {
        self.holds.as_ref().is_none_or(|holds| holds())
    }
}

impl fmt::Debug for LeaseCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LeaseCheck")
    }
}

impl Envelope {
    /// Checks the lease; every transport calls this right before it begins to send the envelope. An error is the
    /// envelope's outcome: the row is handed back at no cost.
    pub fn may_begin(&self) -> Result<(), Outcome> {
        if self.lease.holds() {
            return Ok(());
        }
        Err(Outcome::Deferred(Failure::new("not sent: its lease ran out while it waited to be sent")))
    }

    /// Reports that the target has accepted the envelope, while others of the call still wait for their answer: the row
    /// is settled while the call goes on, without the secrets that the receipt may hold. The call returns this outcome
    /// as well. For transports that wait for many acknowledgements at once, such as brokers.
    pub fn report_delivered(&self, receipt: &Receipt) {
        if let Some(delivered) = &self.lease.delivered {
            delivered(receipt.clone().scrubbed());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Content, Value, scrub};

    #[test]
    fn a_receipt_that_is_reported_early_holds_no_secret() {
        let secret = "early-receipt-5ecret";
        scrub::register(secret);
        let reported = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&reported);
        let envelope = Envelope {
            row: "1".to_owned(),
            dedupe: "1".to_owned(),
            attempt: 1,
            lease: LeaseCheck::default().reporting(move |receipt| kept.lock().unwrap().push(receipt)),
            content: Content::Nothing,
            detail: crate::row::Detail::new(),
        };
        let text = format!("accepted for {secret}");
        let detail = crate::row::Detail::from([("answer".to_owned(), Value::Text(text.clone()))]);
        envelope.report_delivered(&Receipt { id: Some(text), detail });
        let reported = reported.lock().unwrap();
        let clean = format!("accepted for {}", scrub::REDACTED);
        assert_eq!(reported[0].id.as_deref(), Some(clean.as_str()));
        assert_eq!(reported[0].detail["answer"], Value::Text(clean));
    }
}
