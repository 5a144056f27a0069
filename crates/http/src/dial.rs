//! Dials a target: resolves its name, checks each address with the guard, connects, and does the TLS handshake.
//!
//! Invariant: the address passed to `connect` is the one that the guard checked.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use futures::stream::{FuturesUnordered, StreamExt as _};
use postrider_seams::{is_exhausted, tcp};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::ServerName;

use crate::error::{Error, ErrorKind};
use crate::guard::Guard;
use crate::lookup::{Lookups, Unresolved};
use crate::target::Target;
use crate::tls;

/// Time after which the next address is tried in parallel (RFC 8305).
const NEXT_ADDRESS_DELAY: Duration = Duration::from_millis(250);
/// Maximum number of addresses of one name that are tried.
const MAX_ADDRESSES: usize = 8;

pub(crate) struct Dialer {
    pub guard: Guard,
    pub lookups: Lookups,
    pub connector: TlsConnector,
    /// Time limit of the TCP connect, and again of the TLS handshake.
    pub connect_timeout: Duration,
}

pub(crate) enum DialledStream {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

impl Dialer {
    /// Returns the addresses of a target that the guard allows, or an error if there are none. `client` is the client
    /// whose lookup limits apply.
    pub async fn addresses(&self, client: Option<&str>, target: &Target) -> Result<Vec<SocketAddr>, Error> {
        let origin = &target.origin;
        let found = if let Some(address) = target.literal {
            vec![SocketAddr::new(address, origin.port)]
        } else {
            let found = self.lookups.addresses(client, &origin.host, origin.port).await;
            found.map_err(|unresolved| unresolved_name(&origin.host, &unresolved))?
        };
        if found.is_empty() {
            return Err(Error::new(ErrorKind::Dns, format!("{} has no address", origin.host)));
        }
        let mut refused = None;
        let mut allowed = Vec::with_capacity(found.len());
        for address in found {
            match self.guard.refuses(address.ip(), origin.secure) {
                None => allowed.push(address),
                Some(why) => refused = refused.or(Some((address.ip(), why))),
            }
        }
        match (refused, allowed.is_empty()) {
            (Some((address, why)), true) => {
                let named = if target.literal.is_some() {
                    format!("{address} may not be dialled: {why}")
                } else {
                    format!("{} is {address}, which may not be dialled: {why}", origin.host)
                };
                Err(Error::new(ErrorKind::Address, named))
            }
            _ => Ok(allowed),
        }
    }

    /// Connects to one of these addresses, which [`Dialer::addresses`] returned.
    pub async fn dial(&self, target: &Target, addresses: &[SocketAddr]) -> Result<DialledStream, Error> {
        let limit = |what: &str| {
            let waited = self.connect_timeout.as_millis();
            Error::new(ErrorKind::Connect, format!("no {what} with {} within {waited} ms", target.origin))
        };
        let stream = timeout(self.connect_timeout, connect(addresses))
            .await
            .map_err(|_| limit("connection"))?
            .map_err(|error| {
                let kind = if is_exhausted(&error) { ErrorKind::Exhausted } else { ErrorKind::Connect };
                Error::new(kind, format!("no connection with {}", target.origin)).caused_by(&error)
            })?;
        if !target.origin.secure {
            return Ok(DialledStream::Plain(stream));
        }
        let secured = timeout(self.connect_timeout, self.connector.connect(server_name(target)?, stream));
        match secured.await.map_err(|_| limit("TLS"))? {
            Ok(stream) => Ok(DialledStream::Secure(Box::new(stream))),
            Err(error) => {
                let kind =
                    if tls::is_certificate_error(&error) { ErrorKind::Certificate } else { ErrorKind::Tls };
                Err(Error::new(kind, format!("no TLS with {}", target.origin)).caused_by(&error))
            }
        }
    }
}

fn unresolved_name(host: &str, unresolved: &Unresolved) -> Error {
    match unresolved {
        Unresolved::Busy => Error::new(
            ErrorKind::TooManyLookups,
            format!("too many DNS lookups are running to resolve {host} now"),
        ),
        Unresolved::TimedOut => {
            Error::new(ErrorKind::DnsTimeout, format!("{host} could not be resolved: no answer in time"))
        }
        Unresolved::Failed(error) => {
            let kind = match () {
                () if is_exhausted(error) || has_text(error, NO_MEMORY) => ErrorKind::Exhausted,
                () if is_temporary(error) => ErrorKind::DnsTimeout,
                () => ErrorKind::Dns,
            };
            Error::new(kind, format!("{host} could not be resolved")).caused_by(&**error)
        }
    }
}

/// Texts of the resolver's error codes, in glibc and in musl: the standard library keeps only these.
const NO_MEMORY: [&str; 2] = ["Memory allocation failure", "Out of memory"];
const NO_ANSWER: [&str; 2] = ["Temporary failure in name resolution", "Try again"];

fn has_text(error: &io::Error, texts: [&str; 2]) -> bool {
    let error = error.to_string();
    texts.iter().any(|text| error.ends_with(text))
}

/// Whether it is unknown if the name exists: no name server answered (`EAI_AGAIN`), a system call failed on this machine
/// (`EAI_SYSTEM`, the only one with a system's error code), or the lookup was cancelled.
fn is_temporary(error: &io::Error) -> bool {
    has_text(error, NO_ANSWER) || error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted
}

fn server_name(target: &Target) -> Result<ServerName<'static>, Error> {
    match target.literal {
        Some(address) => Ok(ServerName::IpAddress(address.into())),
        None => ServerName::try_from(target.origin.host.to_string())
            .map_err(|_| Error::new(ErrorKind::Url, "the target URL's host is not a name that TLS allows")),
    }
}

/// Connects to the first address that answers; the next attempt starts when the last one fails or takes too long.
async fn connect(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut remaining = addresses.iter().take(MAX_ADDRESSES);
    let mut attempts = FuturesUnordered::new();
    attempts.extend(remaining.next().map(|address| TcpStream::connect(*address)));
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    loop {
        tokio::select! {
            finished = attempts.next() => match finished {
                Some(Ok(stream)) => {
                    // Head and body may go in two writes, and the second must not wait for the first's acknowledgement.
                    stream.set_nodelay(true)?;
                    tcp::detect_vanished_peer(&stream)?;
                    return Ok(stream);
                }
                // An address that refuses must not hide that another one could not be tried for lack of local
                // resources.
                Some(Err(error)) if !is_exhausted(&last) => last = error,
                Some(Err(_)) => {}
                None => return Err(last),
            },
            () = sleep(NEXT_ADDRESS_DELAY), if remaining.len() > 0 => {}
        }
        attempts.extend(remaining.next().map(|address| TcpStream::connect(*address)));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn kind(error: io::Error) -> ErrorKind {
        unresolved_name("hooks.example", &Unresolved::Failed(Arc::new(error))).kind
    }

    #[test]
    fn a_lookup_without_an_answer_differs_from_a_missing_name() {
        let words = "failed to lookup address information: Name or service not known";
        assert_eq!(kind(io::Error::other(words)), ErrorKind::Dns);
        let words = "failed to lookup address information: Temporary failure in name resolution";
        assert_eq!(kind(io::Error::other(words)), ErrorKind::DnsTimeout);
        for words in ["Non-recoverable failure in name resolution", "No address associated with hostname"] {
            let words = format!("failed to lookup address information: {words}");
            assert_eq!(kind(io::Error::other(words.clone())), ErrorKind::Dns, "{words}");
        }
        assert_eq!(unresolved_name("hooks.example", &Unresolved::TimedOut).kind, ErrorKind::DnsTimeout);
        for code in [12, 23, 24, 105] {
            assert_eq!(kind(io::Error::from_raw_os_error(code)), ErrorKind::Exhausted, "{code}");
        }
    }

    /// Failures of this machine while it looks up a name say nothing about the name.
    #[test]
    fn g01_a_lookup_that_fails_on_this_machine_is_no_missing_name() {
        for words in ["Memory allocation failure", "Out of memory"] {
            let error = io::Error::other(format!("failed to lookup address information: {words}"));
            assert_eq!(kind(error), ErrorKind::Exhausted, "{words}");
        }
        // EIO, ENETUNREACH and ECONNREFUSED with EAI_SYSTEM.
        for code in [5, 101, 111] {
            assert_eq!(kind(io::Error::from_raw_os_error(code)), ErrorKind::DnsTimeout, "{code}");
        }
        assert_eq!(kind(io::ErrorKind::Interrupted.into()), ErrorKind::DnsTimeout);
    }

    #[tokio::test]
    async fn a_vanished_peer_is_detected() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let stream = connect(&[listener.local_addr().expect("its address")]).await.expect("a connection");
        let socket = socket2::SockRef::from(&stream);
        assert_eq!(socket.tcp_keepalive_time().expect("an option"), tcp::KEEPALIVE_IDLE);
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(tcp::USER_TIMEOUT));
    }
}
