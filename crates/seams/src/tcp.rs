//! TCP options that detect a vanished peer.
//!
//! A host that loses its power or its network closes no connection. Without these options an idle connection to it
//! stays open forever, and one with unsent data for a quarter of an hour.

use std::io;
use std::time::Duration;

use socket2::{SockRef, TcpKeepalive};
use tokio::net::TcpStream;

/// The idle time after which a connection is probed.
pub const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
/// Time between two keepalive probes.
pub const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// The number of unanswered probes that end a connection.
pub const KEEPALIVE_RETRIES: u32 = 3;
/// Time limit for the peer to acknowledge sent data or to accept a byte, after which the connection ends.
pub const USER_TIMEOUT: Duration = Duration::from_secs(10);

/// Sets options that end the connection with an error about ten seconds after its peer vanished. The peer's kernel
/// answers, not its program: a slow peer is not disconnected, and a peer that hangs is left to the caller's own
/// timeouts.
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
