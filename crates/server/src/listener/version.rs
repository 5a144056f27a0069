//! Finds out which version of HTTP a client speaks, by the first bytes of its connection, without consuming them.

use std::io;
use std::time::Duration;

use tokio::net::TcpStream;

/// The bytes with which a client that knows that we speak HTTP/2 begins (RFC 9113, section 3.4). No HTTP/1 method
/// begins with the first four.
const PREFACE: &[u8] = b"PRI ";
/// Time until a connection is looked at again that has sent only the first letters, which `POST` begins with as well.
const NEXT_LOOK: Duration = Duration::from_millis(10);

/// The version of HTTP on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HttpVersion {
    One,
    Two,
}

/// Waits for the first bytes and returns the version; an error if the client closes the connection before.
pub async fn detect(stream: &TcpStream) -> io::Result<HttpVersion> {
    let mut first = [0; PREFACE.len()];
    loop {
        let seen = stream.peek(&mut first).await?;
        if seen == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if !PREFACE.starts_with(&first[..seen]) {
            return Ok(HttpVersion::One);
        }
        if seen == PREFACE.len() {
            return Ok(HttpVersion::Two);
        }
        tokio::time::sleep(NEXT_LOOK).await;
    }
}
