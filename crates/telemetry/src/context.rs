//! The W3C trace context, `00-<trace>-<span>-<flags>`: parsing and formatting.

/// A trace context: the trace, and the span that is the parent of the next one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceContext {
    pub trace: u128,
    pub span: u64,
    pub sampled: bool,
}

impl TraceContext {
    /// Parses a `traceparent`; `None` if the specification calls it invalid. Later versions may have more parts.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.trim().split('-');
        let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let lower = |part: &str, length: usize| {
            part.len() == length && part.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        let shaped = lower(version, 2) && lower(trace, 32) && lower(span, 16) && lower(flags, 2);
        if !shaped || version == "ff" || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let trace = u128::from_str_radix(trace, 16).ok().filter(|trace| *trace != 0)?;
        let span = u64::from_str_radix(span, 16).ok().filter(|span| *span != 0)?;
        let flags = u8::from_str_radix(flags, 16).ok()?;
        Some(Self { trace, span, sampled: flags & 1 == 1 })
    }

    /// Formats the context as the value of a `traceparent` header.
    pub fn header(&self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

/// Generates a span id that is not zero, which would mean no span.
pub(crate) fn new_span_id() -> u64 {
    rand::random::<u64>().max(1)
}

pub(crate) fn new_trace_id() -> u128 {
    rand::random::<u128>().max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_specification_shows_is_read_and_written() {
        let text = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        let context = TraceContext::parse(text).unwrap();
        assert_eq!(context.header(), text);
        assert!(context.sampled);
        assert!(!TraceContext::parse(&text.replace("-01", "-00")).unwrap().sampled);
        assert!(TraceContext::parse(&format!("cc{}-what-the-future-brings", &text[2..])).is_some());
    }

    #[test]
    fn what_is_no_context_is_none() {
        for text in [
            "",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-more",
        ] {
            assert_eq!(TraceContext::parse(text), None, "{text}");
        }
    }
}
