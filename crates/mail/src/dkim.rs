//! DKIM signatures (RFC 6376, RFC 8463): relaxed/relaxed, SHA-256, RSA or Ed25519.
//!
//! Owns keys and signing. Must not resolve names or verify signatures. Implemented here because signing needs only
//! canonicalisation and two calls of `ring`, which we use anyway, while existing crates add a resolver.
//! Invariant: a key is never printed, and the same message and time give the same signature.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::digest::{SHA256, digest};
use ring::rand::SystemRandom;
use ring::signature::{Ed25519KeyPair, RSA_PKCS1_SHA256, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;

use crate::address::ascii_domain;
use crate::quote;

mod canonical;

/// Headers that are signed if the message has them. From is signed once more than it occurs, so that a second one
/// cannot be added (oversigning).
const SIGNED: [&str; 16] = [
    "from",
    "to",
    "cc",
    "reply-to",
    "subject",
    "date",
    "message-id",
    "mime-version",
    "content-type",
    "content-transfer-encoding",
    "in-reply-to",
    "references",
    "sender",
    "list-id",
    "list-unsubscribe",
    "list-unsubscribe-post",
];

/// The reason why a signer cannot be created. Never contains any part of the key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("DKIM domain {0} is not a host name")]
    Domain(String),
    #[error("invalid DKIM selector {0}: letters, digits, - and . only")]
    Selector(String),
    #[error("the DKIM key is not PEM text of a private key (-----BEGIN PRIVATE KEY----- or RSA PRIVATE KEY)")]
    Pem,
    #[error("the DKIM key is neither RSA of 2048 to 4096 bits nor Ed25519: {0}")]
    Key(String),
}

enum SigningKey {
    Rsa(Box<RsaKeyPair>),
    Ed25519(Box<Ed25519KeyPair>),
}

/// A DKIM signer for one domain, with one key.
pub struct Signer {
    domain: String,
    selector: String,
    key: SigningKey,
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({}._domainkey.{}, {})", self.selector, self.domain, self.algorithm())
    }
}

impl Signer {
    /// Creates a signer; `pem` is an RSA key (PKCS#1 or PKCS#8) or an Ed25519 key (PKCS#8).
    pub fn new(domain: &str, selector: &str, pem: &str) -> Result<Self, Error> {
        let ascii = ascii_domain(domain).ok_or_else(|| Error::Domain(quote(domain)))?.into_owned();
        let selector_ascii =
            ascii_domain(selector).ok_or_else(|| Error::Selector(quote(selector)))?.into_owned();
        let der = PrivateKeyDer::from_pem_slice(pem.as_bytes()).map_err(|_| Error::Pem)?;
        Ok(Self { domain: ascii, selector: selector_ascii, key: read_key(&der)? })
    }

    /// Whether this key signs mail from `domain`: the signer's own domain or a subdomain.
    pub fn covers(&self, domain: &str) -> bool {
        domain.strip_suffix(self.domain.as_str()).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    }

    /// Returns the signing domain (`d=`), in lower-case A-labels.
    pub fn domain(&self) -> &str {
        &self.domain
    }

    /// Returns the selector (`s=`).
    pub fn selector(&self) -> &str {
        &self.selector
    }

    fn algorithm(&self) -> &'static str {
        match self.key {
            SigningKey::Rsa(_) => "rsa-sha256",
            SigningKey::Ed25519(_) => "ed25519-sha256",
        }
    }

    fn signature(&self, data: &[u8]) -> Vec<u8> {
        match &self.key {
            SigningKey::Rsa(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                // The randomness only blinds the computation: the signature is the same every time.
                key.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), data, &mut signature)
                    .expect("the buffer has the length of the modulus, and the system has randomness");
                signature
            }
            // RFC 8463: the signature is over the hash.
            SigningKey::Ed25519(key) => key.sign(digest(&SHA256, data).as_ref()).as_ref().to_vec(),
        }
    }

    /// Returns the DKIM-Signature header of a message, with its line ending.
    fn header(&self, headers: &[canonical::Header<'_>], body_hash: &str, time: i64) -> String {
        let (names, mut data) = canonical::select(headers, &SIGNED);
        let mut header = format!(
            "DKIM-Signature: v=1; a={}; c=relaxed/relaxed;\r\n d={}; s={}; t={time};\r\n h=",
            self.algorithm(),
            self.domain,
            self.selector,
        );
        push_folded(&mut header, names.iter().map(|name| format!("{name}:")));
        header.pop();
        header.push_str(";\r\n bh=");
        header.push_str(body_hash);
        header.push_str(";\r\n b=");
        canonical::push_header(&mut data, header.as_bytes());
        data.truncate(data.len() - 2); // RFC 6376, 3.7: this one without its CRLF
        let signature = STANDARD.encode(self.signature(&data));
        push_folded(
            &mut header,
            signature.as_bytes().chunks(64).map(|part| String::from_utf8_lossy(part).into()),
        );
        header.push_str("\r\n");
        header
    }
}

/// Prepends one DKIM-Signature per signer to `message`, which ends in CRLF; `time` is the signing time in Unix seconds.
pub fn sign<'a>(signers: impl IntoIterator<Item = &'a Signer>, message: &mut Vec<u8>, time: i64) {
    let (head, body) = canonical::split(message);
    let headers = canonical::headers(head);
    let body_hash = STANDARD.encode(canonical::body_hash(body));
    let signatures: String =
        signers.into_iter().map(|signer| signer.header(&headers, &body_hash, time)).collect();
    message.splice(0..0, signatures.into_bytes());
}

fn read_key(der: &PrivateKeyDer<'_>) -> Result<SigningKey, Error> {
    match der {
        PrivateKeyDer::Pkcs1(der) => match RsaKeyPair::from_der(der.secret_pkcs1_der()) {
            Ok(key) => Ok(SigningKey::Rsa(Box::new(key))),
            Err(error) => Err(Error::Key(error.to_string())),
        },
        PrivateKeyDer::Pkcs8(der) => {
            let der = der.secret_pkcs8_der();
            // Common tools omit the public key, hence "maybe unchecked".
            if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(der) {
                return Ok(SigningKey::Ed25519(Box::new(key)));
            }
            match RsaKeyPair::from_pkcs8(der) {
                Ok(key) => Ok(SigningKey::Rsa(Box::new(key))),
                Err(error) => Err(Error::Key(error.to_string())),
            }
        }
        _ => Err(Error::Key("another kind of key".to_owned())),
    }
}

/// Appends parts, and folds the line before each part that would make it too long.
fn push_folded(to: &mut String, parts: impl Iterator<Item = String>) {
    for part in parts {
        let line = to.len() - to.rfind('\n').map_or(0, |at| at + 1);
        if line + part.len() > 76 {
            to.push_str("\r\n ");
        }
        to.push_str(&part);
    }
}
