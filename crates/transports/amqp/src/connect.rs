//! Connects to an AMQP broker: tries its nodes in order until one answers.

use std::time::Duration;

use lapin::tcp::{AMQPUriTcpExt, OwnedIdentity, OwnedTLSConfig};
use lapin::uri::{AMQPAuthority, AMQPQueryString, AMQPScheme, AMQPUri, AMQPUserInfo, SASLMechanism};
use lapin::{Connection, ConnectionProperties};
use postrider_target_options::Host;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

use crate::classify;
use crate::config::Settings;
use crate::error::{BROKER, ConnectError, Error};

/// Reads the certificate files.
pub(crate) fn tls(settings: &Settings) -> Result<OwnedTLSConfig, Error> {
    let read = |name: &str, file: &std::path::Path| {
        std::fs::read_to_string(file).map_err(|error| {
            Error::one(BROKER, format!("{name} {}: {error}; it must be a PEM file", file.display()))
        })
    };
    let cert_chain = settings.ca_file.as_ref().map(|file| read("ca_file", file)).transpose()?;
    let identity = match &settings.certificate {
        None => None,
        Some((certificate, key)) => Some(OwnedIdentity::PKCS8 {
            pem: read("cert_file", certificate)?.into_bytes(),
            key: read("key_file", key)?.into_bytes(),
        }),
    };
    Ok(OwnedTLSConfig { identity, cert_chain })
}

/// Connects to the first node that accepts us; the error is the last node's.
pub(crate) async fn connect(
    settings: &Settings,
    tls: &OwnedTLSConfig,
    deadline: Instant,
) -> Result<Connection, ConnectError> {
    let mut last_error = ConnectError::Unreachable("no host".to_owned());
    for host in &settings.hosts {
        let until = deadline.min(Instant::now() + settings.connect_timeout);
        match timeout_at(until, open(settings, host, tls.clone())).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(error)) => last_error = classify::connect_error(&error, &host.to_string()),
            Err(_) => last_error = ConnectError::Unreachable(format!("{host} does not answer in time")),
        }
        if matches!(last_error, ConnectError::Refused(_)) {
            break;
        }
    }
    Err(last_error)
}

/// Opens a connection to one node.
///
/// lapin connects on a thread of its own. If that fails before the handshake is queued, lapin reports the error to
/// nobody and its future never completes; so the error of the socket is also sent to us directly.
async fn open(settings: &Settings, host: &Host, tls: OwnedTLSConfig) -> lapin::Result<Connection> {
    let properties = ConnectionProperties::default().with_connection_name(settings.name.as_str().into());
    let (report, mut socket_errors) = mpsc::unbounded_channel();
    let connecting = Connection::connector(
        uri(settings, host),
        lapin::runtime::default_runtime()?,
        async move |uri, runtime| {
            let socket = AMQPUriTcpExt::connect_with_config_async(&uri, tls.as_ref(), &runtime).await;
            socket.map_err(lapin::Error::from).inspect_err(|error| drop(report.send(error.clone())))
        },
        properties,
    );
    tokio::select! {
        result = connecting => result,
        Some(error) = socket_errors.recv() => Err(error),
    }
}

fn uri(settings: &Settings, host: &Host) -> AMQPUri {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    AMQPUri {
        scheme: if settings.tls { AMQPScheme::AMQPS } else { AMQPScheme::AMQP },
        authority: AMQPAuthority {
            userinfo: AMQPUserInfo {
                username: settings.credentials.user.clone(),
                password: settings.credentials.password.reveal().to_owned(),
            },
            host: host.name.clone(),
            port: host.port,
        },
        vhost: settings.vhost.clone(),
        query: AMQPQueryString {
            heartbeat: Some(u16::try_from(settings.heartbeat.as_secs()).unwrap_or(u16::MAX)),
            connection_timeout: Some(millis(settings.connect_timeout)),
            auth_mechanism: Some(SASLMechanism::Plain),
            ..AMQPQueryString::default()
        },
    }
}
