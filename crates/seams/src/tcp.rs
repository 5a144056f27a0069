//! How soon we find out that the peer of a TCP connection is gone.
//!
//! A host that loses its power or its network closes nothing. Without these options an idle connection to it looks open for
//! ever, and one with unsent data for a quarter of an hour.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// A connection that was idle for so long is probed.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
/// Between two probes.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// Unanswered probes that end a connection.
pub const KEEPALIVE_RETRIES: u32 = 3;
/// The connection ends when what was sent is not acknowledged for so long, or when the peer accepts no byte for so long.
pub const USER_TIMEOUT: Duration = Duration::from_secs(10);

/// Ends the connection, with an error for whoever uses it, about ten seconds after its peer vanished. The peer's kernel
/// answers, not its program: a peer that is only slow is not cut, and one that hangs is for the caller's own timeouts.
pub fn detect_vanished_peer(stream: &TcpStream) -> io::Result<()> {
    let socket = SockRef::from(stream);
    let keepalive = TcpKeepalive::new()
        .with_time(KEEPALIVE_IDLE)
        .with_interval(KEEPALIVE_INTERVAL)
        .with_retries(KEEPALIVE_RETRIES);
    socket.set_tcp_keepalive(&keepalive)?;
    #[cfg(target_os = "linux")]
    socket.set_tcp_user_timeout(Some(USER_TIMEOUT))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_options_are_those_of_the_socket() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("its address");
        let stream = TcpStream::connect(address).await.expect("a connection");
        detect_vanished_peer(&stream).expect("the options can be set");
        let socket = SockRef::from(&stream);
        assert!(socket.keepalive().expect("an option"));
        assert_eq!(socket.tcp_keepalive_time().expect("an option"), KEEPALIVE_IDLE);
        assert_eq!(socket.tcp_keepalive_interval().expect("an option"), KEEPALIVE_INTERVAL);
        assert_eq!(socket.tcp_keepalive_retries().expect("an option"), KEEPALIVE_RETRIES);
        #[cfg(target_os = "linux")]
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(USER_TIMEOUT));
    }
}
