//! Trace context of requests (W3C Trace Context), as it is stored with jobs.

/// Returns the trimmed text if it is a valid `traceparent`; otherwise `None`.
pub fn traceparent(text: &str) -> Option<String> {
    let text = text.trim();
    let parts: Vec<&str> = text.split('-').collect();
    let hex = |part: &str, length: usize| {
        part.len() == length
            && part.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
    };
    let some = |part: &str| part.bytes().any(|byte| byte != b'0');
    let shaped = matches!(parts.as_slice(), [version, trace, span, flags]
        if hex(version, 2) && *version != "ff" && hex(trace, 32) && some(trace) && hex(span, 16) && some(span) && hex(flags, 2));
    shaped.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::traceparent;

    #[test]
    fn only_valid_traces_are_kept() {
        let fine = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        assert_eq!(traceparent(&format!(" {fine} ")).as_deref(), Some(fine));
        for wrong in [
            "",
            "x",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7",
            "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",
            "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",
            "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\nX: 1",
        ] {
            assert_eq!(traceparent(wrong), None, "{wrong}");
        }
    }
}
