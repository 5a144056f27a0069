//! Whether the machine has run out of something that it will have again.

use std::io;

/// EAGAIN, ENOMEM, ENFILE, EMFILE and ENOBUFS, as Linux numbers them.
const EXHAUSTED: [i32; 5] = [11, 12, 23, 24, 105];

/// Is it for want of descriptors, memory or threads that this could not be opened? No target and no row is at fault then.
pub fn is_exhausted(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::OutOfMemory
        || error.raw_os_error().is_some_and(|code| EXHAUSTED.contains(&code))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn want_of_descriptors_is_told_from_a_fault_of_the_target() {
        assert!(is_exhausted(&io::Error::from_raw_os_error(24)));
        assert!(!is_exhausted(&io::ErrorKind::ConnectionRefused.into()));
        assert!(!is_exhausted(&io::Error::from_raw_os_error(111)));
    }
}
