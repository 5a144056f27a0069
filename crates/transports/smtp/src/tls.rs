//! TLS to a relay: public certificate authorities, and those of the settings. The peer is always verified.

use std::io;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName};
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

use crate::config::{Settings, Tls};
use crate::error::{ConnectionError, Error, TARGET};

/// Verifies one relay under one name.
#[derive(Clone)]
pub(crate) struct RelayTls {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl RelayTls {
    /// Builds the TLS configuration, `None` if the settings ask for plain text.
    pub(crate) fn new(settings: &Settings) -> Result<Option<Self>, Error> {
        if settings.tls == Tls::None {
            return Ok(None);
        }
        let name = ServerName::try_from(settings.host.clone()).map_err(|_| {
            Error::one(TARGET, format!("{} is not a host name that a certificate can contain", settings.host))
        })?;
        let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .expect("ring has the cipher suites of TLS 1.2 and 1.3")
            .with_root_certificates(roots(settings)?)
            .with_no_client_auth();
        Ok(Some(Self { connector: TlsConnector::from(Arc::new(config)), name }))
    }

    pub(crate) async fn handshake(&self, stream: TcpStream) -> Result<TlsStream<TcpStream>, ConnectionError> {
        self.connector.connect(self.name.clone(), stream).await.map_err(|error| handshake_error(&error))
    }
}

fn roots(settings: &Settings) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    let Some(path) = &settings.ca_file else { return Ok(roots) };
    let invalid = |what: &dyn std::fmt::Display| {
        Error::one(
            TARGET,
            format!("ca_file {}: {what}; it must contain certificates in PEM format", path.display()),
        )
    };
    let mut found = 0;
    for certificate in CertificateDer::pem_file_iter(path).map_err(|error| invalid(&error))? {
        let certificate = certificate.map_err(|error| invalid(&error))?;
        roots.add(certificate).map_err(|error| invalid(&error))?;
        found += 1;
    }
    if found == 0 { Err(invalid(&"it contains no certificate")) } else { Ok(roots) }
}

/// Converts a TLS error: an untrusted certificate needs an operator; anything else may be temporary.
fn handshake_error(error: &io::Error) -> ConnectionError {
    let cause = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match cause {
        Some(rustls::Error::InvalidCertificate(reason)) => ConnectionError::Refused(format!(
            "the relay's certificate is not trusted ({reason}): fix it, or name its authority in ca_file"
        )),
        _ => ConnectionError::unreachable(format!("TLS handshake failed: {error}")),
    }
}
