//! Opens a connection that can send mail: dial, TLS, greeting, EHLO, STARTTLS, AUTH.
//!
//! Invariant: nothing read before TLS is trusted after it, and no credential is sent before it.

use std::net::SocketAddr;

use postrider_seams::tcp;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, timeout_at};

use super::Connection;
use crate::auth::Script;
use crate::classify::{Kind, Refusal, Stage, judge};
use crate::config::{Credentials, Settings, Tls};
use crate::ehlo::Offers;
use crate::error::Fault;
use crate::stream::Stream;
use crate::tls::Guard;

/// Opens a new connection, ready for mail. Every fault except a refusal means that there is no connection.
pub(crate) async fn open(
    settings: &Settings,
    guard: Option<&Guard>,
    deadline: Instant,
) -> Result<Connection, Fault> {
    let opened = attempt(settings, guard, deadline).await;
    opened.map_err(|fault| match fault {
        Fault::Lost(reason) => Fault::unreachable(format!("{}: {reason}", settings.target())),
        Fault::Unreachable { reason, slow } => {
            Fault::Unreachable { reason: format!("{}: {reason}", settings.target()), slow }
        }
        Fault::Exhausted(reason) => Fault::Exhausted(format!("{}: {reason}", settings.target())),
        Fault::Refused(reason) => Fault::Refused(format!("{}: {reason}", settings.target())),
    })
}

async fn attempt(settings: &Settings, guard: Option<&Guard>, deadline: Instant) -> Result<Connection, Fault> {
    let tcp = dial(settings, deadline).await?;
    let literal = tcp.local_addr().map_or_else(|_| "[127.0.0.1]".to_owned(), |address| literal(&address));
    let helo = settings.helo.as_ref().unwrap_or(&literal);
    let timeouts = settings.timeouts.clone();
    let mut connection = match (settings.tls, guard) {
        (Tls::Implicit, Some(guard)) => {
            Connection::new(wrap(guard, tcp, settings, deadline).await?, timeouts)
        }
        _ => Connection::new(Stream::Plain(tcp), timeouts),
    };
    expect(&mut connection, Stage::Greeting, deadline).await?;
    connection.hello(helo, settings, deadline).await?;
    if let (Tls::Required, Some(guard)) = (settings.tls, guard) {
        connection = connection.start_tls(guard, settings, deadline).await?;
        connection.hello(helo, settings, deadline).await?;
    }
    if let Some(credentials) = &settings.credentials {
        connection.authenticate(credentials, deadline).await?;
    }
    Ok(connection)
}

/// Tries each address of the host in turn, within one time limit.
async fn dial(settings: &Settings, deadline: Instant) -> Result<TcpStream, Fault> {
    let started = Instant::now();
    let until = deadline.min(started + settings.timeouts.connect);
    let slow = || Fault::unreachable("no connection in time");
    let addresses: Vec<SocketAddr> = timeout_at(until, lookup_host((settings.host.as_str(), settings.port)))
        .await
        .map_err(|_| Fault::unreachable("the name was not resolved in time"))?
        .map_err(|error| Fault::dialling("the name can't be resolved", &error))?
        .collect();
    let mut fault = Fault::unreachable("the name has no address");
    let mut left = u32::try_from(addresses.len()).unwrap_or(u32::MAX);
    for address in addresses {
        let now = Instant::now();
        let share = until.saturating_duration_since(now) / left.max(1);
        left -= 1;
        match timeout_at(now + share, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // Without TCP_NODELAY the last packet of each mail waits 40 ms for an acknowledgement.
                let set = stream.set_nodelay(true).and_then(|()| tcp::detect_vanished_peer(&stream));
                set.map_err(|error| Fault::unreachable(error.to_string()))?;
                return Ok(stream);
            }
            Ok(Err(error)) => fault = Fault::dialling("no connection", &error),
            Err(_) => fault = slow(),
        }
        if matches!(fault, Fault::Exhausted(_)) {
            break;
        }
    }
    Err(fault)
}

async fn wrap(
    guard: &Guard,
    tcp: TcpStream,
    settings: &Settings,
    deadline: Instant,
) -> Result<Stream, Fault> {
    let until = deadline.min(Instant::now() + settings.timeouts.tls);
    let stream = timeout_at(until, guard.wrap(tcp))
        .await
        .map_err(|_| Fault::unreachable("the TLS handshake did not end in time"))??;
    Ok(Stream::Tls(Box::new(stream)))
}

/// Formats our own address as an EHLO literal.
fn literal(address: &SocketAddr) -> String {
    match address.ip().to_canonical() {
        std::net::IpAddr::V4(ip) => format!("[{ip}]"),
        std::net::IpAddr::V6(ip) => format!("[IPv6:{ip}]"),
    }
}

async fn expect(connection: &mut Connection, stage: Stage, deadline: Instant) -> Result<(), Fault> {
    let reply = connection.reply(stage, deadline).await?;
    judge(stage, &reply).map_err(|refusal| turned_away(&refusal))
}

/// Converts a refusal before the first mail into a fault.
fn turned_away(refusal: &Refusal) -> Fault {
    let reason = format!("the relay answered {} with {}", refusal.stage.name(), refusal.words);
    match refusal.kind() {
        Kind::Refused | Kind::Rejected | Kind::Suspect => Fault::Refused(reason),
        _ => Fault::Unreachable { reason, slow: refusal.judgement.slow },
    }
}

impl Connection {
    async fn hello(&mut self, helo: &str, settings: &Settings, deadline: Instant) -> Result<(), Fault> {
        let reply = self.ask(&format!("EHLO {helo}"), Stage::Ehlo, deadline).await?;
        match judge(Stage::Ehlo, &reply) {
            Ok(()) => {
                self.offers = Offers::read(&reply);
                return Ok(());
            }
            // A relay from before 1995 can still accept mail if no extension is needed.
            Err(refusal) if matches!(refusal.code, 500 | 502) && settings.tls != Tls::Required => {}
            Err(refusal) => return Err(turned_away(&refusal)),
        }
        self.offers = Offers::default();
        let reply = self.ask(&format!("HELO {helo}"), Stage::Ehlo, deadline).await?;
        judge(Stage::Ehlo, &reply).map_err(|refusal| turned_away(&refusal))
    }

    async fn start_tls(
        mut self,
        guard: &Guard,
        settings: &Settings,
        deadline: Instant,
    ) -> Result<Self, Fault> {
        if !self.offers.starttls {
            return Err(Fault::Refused(
                "the relay does not offer STARTTLS, and the settings require it: use smtps://, or tls=none for a relay \
                 without TLS"
                    .to_owned(),
            ));
        }
        let reply = self.ask("STARTTLS", Stage::StartTls, deadline).await?;
        judge(Stage::StartTls, &reply).map_err(|refusal| turned_away(&refusal))?;
        if !self.replies.is_empty() {
            return Err(Fault::Lost(
                "plain text after the answer to STARTTLS: somebody is in between".to_owned(),
            ));
        }
        let Stream::Plain(tcp) = self.stream else {
            unreachable!("STARTTLS is asked for on plain connections only");
        };
        Ok(Self::new(wrap(guard, tcp, settings, deadline).await?, self.timeouts))
    }

    async fn authenticate(&mut self, credentials: &Credentials, deadline: Instant) -> Result<(), Fault> {
        let script = Script::choose(credentials, &self.offers).map_err(Fault::Refused)?;
        let mut refusal = None;
        for line in &script.lines {
            let reply = self.ask(line, Stage::Auth, deadline).await?;
            if reply.is(2) {
                return Ok(());
            }
            if reply.code != 334 {
                refusal = judge(Stage::Auth, &reply).err();
                break;
            }
        }
        let Some(mut refusal) = refusal else {
            return Err(Fault::Refused("the relay asks for more than the AUTH mechanism has".to_owned()));
        };
        if script.leaks(credentials, &refusal.words) {
            refusal.words = format!("{} (words withheld: they repeat the credentials)", refusal.code);
        }
        Err(turned_away(&refusal))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn a_relay_that_vanishes_is_noticed() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let settings = Settings { port, ..Settings::new("127.0.0.1", Tls::None) };
        let stream = dial(&settings, Instant::now() + Duration::from_secs(5)).await.expect("a connection");
        let socket = socket2::SockRef::from(&stream);
        assert_eq!(socket.tcp_keepalive_time().expect("an option"), tcp::KEEPALIVE_IDLE);
        assert_eq!(socket.tcp_user_timeout().expect("an option"), Some(tcp::USER_TIMEOUT));
    }
}
