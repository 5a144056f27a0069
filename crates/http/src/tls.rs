//! TLS: the trusted root certificates and the offered protocols.

use std::sync::Arc;

use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::{self, ClientConfig, RootCertStore};

/// The root certificates that are trusted.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Roots {
    /// Mozilla's root certificates, built into the binary.
    #[default]
    BuiltIn,
    /// The operating system's root certificates.
    System,
    /// The built-in root certificates, and those of this PEM text.
    BuiltInAnd(Vec<u8>),
}

/// Builds the TLS connector; the error describes what is wrong with the roots.
pub(crate) fn connector(roots: &Roots) -> Result<TlsConnector, String> {
    let mut store = RootCertStore::empty();
    match roots {
        Roots::System => {
            let found = rustls_native_certs::load_native_certs();
            let (added, _) = store.add_parsable_certificates(found.certs);
            if added == 0 {
                return Err("the system has no root certificates that can be read".to_owned());
            }
        }
        Roots::BuiltIn => store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned()),
        Roots::BuiltInAnd(pem) => {
            store.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            let extra: Result<Vec<CertificateDer<'_>>, _> = CertificateDer::pem_slice_iter(pem).collect();
            let extra = extra.map_err(|error| format!("the root certificates are not PEM: {error}"))?;
            let (added, refused) = store.add_parsable_certificates(extra);
            if added == 0 || refused > 0 {
                return Err("the root certificates can't be read: they must be PEM".to_owned());
            }
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(store)
        .with_no_client_auth();
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsConnector::from(Arc::new(config)))
}

/// Whether the handshake failed because of the certificate.
pub(crate) fn is_certificate_error(error: &std::io::Error) -> bool {
    let inner = error.get_ref().and_then(|inner| inner.downcast_ref::<rustls::Error>());
    matches!(
        inner,
        Some(
            rustls::Error::InvalidCertificate(_)
                | rustls::Error::NoCertificatesPresented
                | rustls::Error::UnsupportedNameType
        )
    )
}
