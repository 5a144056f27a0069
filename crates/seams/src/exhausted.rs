//! Detects that the machine has temporarily run out of a resource.

use std::error::Error;
use std::io;

/// EAGAIN, ENOMEM, ENFILE, EMFILE, EADDRNOTAVAIL (no local port is free) and ENOBUFS, as Linux numbers them.
const EXHAUSTED: [i32; 6] = [11, 12, 23, 24, 99, 105];

/// Whether an error is due to a lack of descriptors, memory, threads or local ports. Neither target nor row is at
/// fault.
pub fn is_exhausted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
        || error.raw_os_error().is_some_and(|code| EXHAUSTED.contains(&code))
}

/// Whether a client library's error is due to a lack of such resources, according to its causes.
pub fn is_caused_by_exhaustion(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        next = error.source();
        if let Some(error) = error.downcast_ref::<io::Error>() {
            if is_exhausted(error) {
                return true;
            }
            // `source` of an I/O error that wraps another error skips that error and returns its source.
            next = error.get_ref().map(|inner| inner as &(dyn Error + 'static)).or(next);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("no connection")]
    struct Wrapped(#[source] io::Error);

    fn os(code: i32) -> io::Error {
        io::Error::from_raw_os_error(code)
    }

    #[test]
    fn exhausted_descriptors_are_distinguished_from_a_fault_of_the_target() {
        for code in [12, 23, 24, 99, 105] {
            assert!(is_exhausted(&os(code)), "{code}");
        }
        assert!(!is_exhausted(&io::ErrorKind::ConnectionRefused.into()));
        assert!(!is_exhausted(&os(111)));
    }

    #[test]
    fn exhaustion_is_found_among_the_causes() {
        assert!(is_caused_by_exhaustion(&os(24)));
        assert!(is_caused_by_exhaustion(&Wrapped(os(24))));
        assert!(is_caused_by_exhaustion(&io::Error::other(Wrapped(os(24)))));
        assert!(is_caused_by_exhaustion(&Wrapped(io::Error::other(os(24)))));
        assert!(!is_caused_by_exhaustion(&io::Error::other(Wrapped(os(111)))));
    }
}
