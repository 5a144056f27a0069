//! Opens a connection that can send mail: dial, TLS, greeting, EHLO, STARTTLS, AUTH.
//!
//! Invariant: nothing read before TLS is trusted after it, and no credential is sent before it.

use std::net::SocketAddr;

use postrider_seams::tcp;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};

use super::Connection;
use crate::auth::AuthExchange;
use crate::classify::{NegativeReply, ReplyKind, SmtpPhase, classify_reply};
use crate::config::{Credentials, Settings, Tls};
use crate::ehlo::Extensions;
use crate::error::ConnectionError;
use crate::stream::Stream;
use crate::tls::RelayTls;

/// Opens a new connection, ready for mail. Every fault except a refusal means that there is no connection.
pub(crate) async fn open(
    settings: &Settings,
    tls: Option<&RelayTls>,
    deadline: Instant,
) -> Result<Connection, ConnectionError> {
    let opened = try_open(settings, tls, deadline).await;
    opened.map_err(|error| match error {
        ConnectionError::Lost(reason) => {
            ConnectionError::unreachable(format!("{}: {reason}", settings.target()))
        }
        ConnectionError::Unreachable { reason, slow } => {
            ConnectionError::Unreachable { reason: format!("{}: {reason}", settings.target()), slow }
        }
        ConnectionError::Exhausted(reason) => {
            ConnectionError::Exhausted(format!("{}: {reason}", settings.target()))
        }
        ConnectionError::Refused(reason) => {
            ConnectionError::Refused(format!("{}: {reason}", settings.target()))
        }
    })
}

async fn try_open(
    settings: &Settings,
    tls: Option<&RelayTls>,
    deadline: Instant,
) -> Result<Connection, ConnectionError> {
    let tcp = dial(settings, deadline).await?;
    let literal =
        tcp.local_addr().map_or_else(|_| "[127.0.0.1]".to_owned(), |address| address_literal(&address));
    let helo = settings.helo.as_ref().unwrap_or(&literal);
    let timeouts = settings.timeouts.clone();
    let mut connection = match (settings.tls, tls) {
        (Tls::Implicit, Some(tls)) => {
            Connection::new(start_tls_stream(tls, tcp, settings, deadline).await?, timeouts)
        }
        _ => Connection::new(Stream::Plain(tcp), timeouts),
    };
    expect_positive_reply(&mut connection, SmtpPhase::Greeting, deadline).await?;
    connection.ehlo(helo, settings, deadline).await?;
    if let (Tls::Required, Some(tls)) = (settings.tls, tls) {
        connection = connection.start_tls(tls, settings, deadline).await?;
        connection.ehlo(helo, settings, deadline).await?;
    }
    if let Some(credentials) = &settings.credentials {
        connection.authenticate(credentials, deadline).await?;
    }
    Ok(connection)
}

/// Tries each address of the host in turn, within one time limit.
async fn dial(settings: &Settings, deadline: Instant) -> Result<TcpStream, ConnectionError> {
    let started = Instant::now();
    let until = deadline.min(started + settings.timeouts.connect);
    let timed_out = || ConnectionError::unreachable("no connection in time");
    let addresses: Vec<SocketAddr> = timeout_at(until, lookup_host((settings.host.as_str(), settings.port)))
        .await
        .map_err(|_| ConnectionError::unreachable("the name was not resolved in time"))?
        .map_err(|error| ConnectionError::from_dial("the name can't be resolved", &error))?
        .collect();
    let mut last_error = ConnectionError::unreachable("the name has no address");
    let mut untried = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    for address in addresses {
        let now = Instant::now();
        let time_share = until.saturating_duration_since(now) / untried.max(1);
        untried -= 1;
        match timeout_at(now + time_share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without TCP_NODELAY the last packet of each mail waits 40 ms for an acknowledgement.
                let set = stream.set_nodelay(true).and_then(|()| tcp::detect_vanished_peer(&stream));
                set.map_err(|error| ConnectionError::unreachable(error.to_string()))?;
                return Ok(stream);
            }
            Ok(Err(error)) => last_error = ConnectionError::from_dial("no connection", &error),
            Err(_) => last_error = timed_out(),
        }
        if matches!(last_error, ConnectionError::Exhausted(_)) {
            break;
        }
    }
    Err(last_error)
}

async fn start_tls_stream(
    tls: &RelayTls,
    tcp: TcpStream,
    settings: &Settings,
    deadline: Instant,
) -> Result<Stream, ConnectionError> {
    let until = deadline.min(Instant::now() + settings.timeouts.tls);
    let stream = timeout_at(until, tls.handshake(tcp))
        .await
        .map_err(|_| ConnectionError::unreachable("the TLS handshake did not end in time"))??;
    Ok(Stream::Tls(Box::new(stream)))
}

/// Formats our own address as an EHLO literal.
fn address_literal(address: &SocketAddr) -> String {
    match address.ip().to_canonical() {
        std::net::IpAddr::V4(ip) => format!("[{ip}]"),
        std::net::IpAddr::V6(ip) => format!("[IPv6:{ip}]"),
    }
}

async fn expect_positive_reply(
    connection: &mut Connection,
    phase: SmtpPhase,
    deadline: Instant,
) -> Result<(), ConnectionError> {
    let reply = connection.reply(phase, deadline).await?;
    classify_reply(phase, &reply).map_err(|refusal| refused_before_mail(&refusal))
}

/// Converts a refusal before the first mail into a fault.
fn refused_before_mail(refusal: &NegativeReply) -> ConnectionError {
    let reason = format!("the relay answered {} with {}", refusal.phase.name(), refusal.text);
    match refusal.kind() {
        ReplyKind::Refused | ReplyKind::Rejected | ReplyKind::SenderRefused => {
            ConnectionError::Refused(reason)
        }
        _ => ConnectionError::Unreachable { reason, slow: refusal.classification.slow },
    }
}

impl Connection {
    async fn ehlo(
        &mut self,
        helo: &str,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<(), ConnectionError> {
        let reply = self.command(&format!("EHLO {helo}"), SmtpPhase::Ehlo, deadline).await?;
        match classify_reply(SmtpPhase::Ehlo, &reply) {
            Ok(()) => {
                self.extensions = Extensions::read(&reply);
                return Ok(());
            }
            // A relay from before 1995 can still accept mail if no extension is needed.
            Err(refusal) if matches!(refusal.code, 500 | 502) && settings.tls != Tls::Required => {}
            Err(refusal) => return Err(refused_before_mail(&refusal)),
        }
        self.extensions = Extensions::default();
        let reply = self.command(&format!("HELO {helo}"), SmtpPhase::Ehlo, deadline).await?;
        classify_reply(SmtpPhase::Ehlo, &reply).map_err(|refusal| refused_before_mail(&refusal))
    }

    async fn start_tls(
        mut self,
        tls: &RelayTls,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<Self, ConnectionError> {
        if !self.extensions.starttls {
            return Err(ConnectionError::Refused(
                "the relay does not offer STARTTLS, and the settings require it: use smtps://, or tls=none for a relay \
                 without TLS"
                    .to_owned(),
            ));
        }
        let reply = self.command("STARTTLS", SmtpPhase::StartTls, deadline).await?;
        classify_reply(SmtpPhase::StartTls, &reply).map_err(|refusal| refused_before_mail(&refusal))?;
        if !self.replies.is_empty() {
            return Err(ConnectionError::Lost(
                "plain text after the answer to STARTTLS: possible man-in-the-middle attack".to_owned(),
            ));
        }
        let Stream::Plain(tcp) = self.stream else {
            unreachable!("STARTTLS is asked for on plain connections only");
        };
        Ok(Self::new(start_tls_stream(tls, tcp, settings, deadline).await?, self.timeouts))
    }

    async fn authenticate(
        &mut self,
        credentials: &Credentials,
        deadline: Instant,
    ) -> Result<(), ConnectionError> {
        let exchange =
            AuthExchange::choose(credentials, &self.extensions).map_err(ConnectionError::Refused)?;
        let mut refusal = None;
        for line in &exchange.lines {
            let reply = self.command(line, SmtpPhase::Auth, deadline).await?;
            if reply.is(2) {
                return Ok(());
            }
            if reply.code != 334 {
                refusal = classify_reply(SmtpPhase::Auth, &reply).err();
                break;
            }
        }
        let Some(mut refusal) = refusal else {
            return Err(ConnectionError::Refused(
                "the relay asks for more than the AUTH mechanism has".to_owned(),
            ));
        };
        if exchange.repeats_secret(credentials, &refusal.text) {
            refusal.text = format!("{} (text withheld: it repeats the credentials)", refusal.code);
        }
        Err(refused_before_mail(&refusal))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_vanished_relay_is_detected() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let settings = Settings { port, ..Settings::new("127.0.0.1", Tls::None) };
        let stream = dial(&settings, Instant::now() + Duration::from_secs(5)).await.expect("a connection");
        let socket = socket2::SockRef::from(&stream);
        assert_eq!(socket.tcp_keepalive_time().expect("an option"), tcp::KEEPALIVE_IDLE);
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(tcp::USER_TIMEOUT));
    }
}
