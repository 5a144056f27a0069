//! Ports for private servers, below the range of outgoing connections, so that a restarted server finds its port free.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::net::{Ipv4Addr, TcpListener};

use crate::error::{Error, Result};

const FIRST: u16 = 15_000;
const COUNT: u16 = 17_000;

/// Returns a port that is free now. Two processes may still choose the same one, so a server's readiness check verifies
/// which server answers, and its start is repeated on another port.
pub(crate) fn free() -> Result<u16> {
    let start = RandomState::new().build_hasher().finish();
    (0..u64::from(COUNT))
        .map(|step| {
            FIRST + u16::try_from((start.wrapping_add(step)) % u64::from(COUNT)).expect("below COUNT")
        })
        .find(|&port| TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok())
        .ok_or_else(|| Error::Failed { command: "looking for a free port".into(), output: String::new() })
}
