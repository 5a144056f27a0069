//! `encrypted://`: the reference contains the secret itself, encrypted with AES-256-GCM under a key of the operator.
//!
//! ```text
//! base64url( 1 | length of the key's id | the key's id | 12 bytes of nonce | ciphertext and tag )
//! ```
//!
//! The header is authenticated with the ciphertext. The first key encrypts and all keys decrypt: to rotate, put a new
//! key in front and keep the old one until everything is encrypted again.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD};
use postrider_config::Scheme;
use postrider_seams::secret::Error;
use postrider_seams::{Secret, scrub};
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::rand::{SecureRandom as _, SystemRandom};
use zeroize::Zeroizing;

#[cfg(test)]
mod tests;

const VERSION: u8 = 1;
const KEY_BYTES: usize = 32;
/// Maximum length of a key's id, in characters.
const ID_LIMIT: usize = 32;

/// An error in the configured keys. It never contains a key.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("key {0}: must be written id:base64 with 32 bytes in base64; `postrider secret key` makes one")]
    Malformed(usize),
    #[error("two keys have the id {0}")]
    DuplicateId(String),
    #[error(
        "there is no key: set POSTRIDER_SECRET_KEY or POSTRIDER_SECRET_KEY_FILE; `postrider secret key` makes one"
    )]
    None,
}

/// The configured keys; the first one encrypts.
#[derive(Default)]
pub struct Keyring {
    keys: Vec<(String, LessSafeKey)>,
}

impl Keyring {
    /// Parses keys of the form `id:base64`, separated by spaces, commas or line ends. Lines that start with `#` are
    /// comments.
    ///
    /// Fails if there is no key, if one is malformed, or if two have the same id.
    pub fn parse(text: &str) -> Result<Self, KeyError> {
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let key_text = lines.flat_map(|line| line.split([' ', '\t', ','])).filter(|key| !key.is_empty());
        let mut ring = Self::default();
        for (index, key_text) in key_text.enumerate() {
            let (id, key) = parse_key(key_text).ok_or(KeyError::Malformed(index + 1))?;
            if ring.keys.iter().any(|(key_id, _)| *key_id == id) {
                return Err(KeyError::DuplicateId(id));
            }
            ring.keys.push((id, key));
        }
        if ring.keys.is_empty() { Err(KeyError::None) } else { Ok(ring) }
    }

    /// Generates a key in the format of [`Keyring::parse`].
    pub fn generate_key(id: &str) -> Secret {
        let mut key = Zeroizing::new([0; KEY_BYTES]);
        fill_random(&mut *key);
        Secret::new(format!("{id}:{}", STANDARD.encode(*key)))
    }

    /// Encrypts a secret with the first key and returns the whole reference.
    pub fn encrypt(&self, secret: &str) -> Result<String, KeyError> {
        let (id, key) = self.keys.first().ok_or(KeyError::None)?;
        let mut nonce = [0; NONCE_LEN];
        fill_random(&mut nonce);
        let mut encrypted = header(id);
        let mut text = secret.as_bytes().to_vec();
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::from(&encrypted), &mut text)
            .expect("a secret is far shorter than the limit of the cipher");
        encrypted.extend_from_slice(&nonce);
        encrypted.extend_from_slice(&text);
        Ok(format!("{}://{}", Scheme::Encrypted.name(), URL_SAFE_NO_PAD.encode(encrypted)))
    }

    /// Encrypts the secret of a reference again with the first key; `None` if it already uses that key.
    pub fn reencrypt(&self, reference: &str) -> Result<Option<String>, Error> {
        let path = Scheme::Encrypted
            .strip(reference.trim())
            .ok_or_else(|| invalid_reference("begin with encrypted://"))?;
        let secret = self.decrypt(path)?;
        let current = self.keys.first().map(|(id, _)| header(id)).unwrap_or_default();
        if decode(path).is_some_and(|bytes| bytes.starts_with(&current)) {
            return Ok(None);
        }
        self.encrypt(secret.reveal()).map(Some).map_err(|error| Error::Unavailable(error.to_string()))
    }

    /// Decrypts the part of a reference after `encrypted://`.
    pub fn decrypt(&self, path: &str) -> Result<Secret, Error> {
        let bytes = decode(path).ok_or_else(|| invalid_reference("be base64"))?;
        let Some((&[VERSION, length], rest)) = bytes.split_first_chunk() else {
            return Err(invalid_reference("be made by `postrider secret encrypt`"));
        };
        let parts = rest.split_at_checked(usize::from(length)).and_then(|(id, rest)| {
            let (nonce, text) = rest.split_first_chunk::<NONCE_LEN>()?;
            Some((std::str::from_utf8(id).ok()?, *nonce, text))
        });
        let (id, nonce, text) = parts.ok_or_else(|| invalid_reference("be complete"))?;
        let Some((_, key)) = self.keys.iter().find(|(key_id, _)| key_id == id) else {
            return Err(Error::Unavailable(format!(
                "the secret is encrypted with the key {id:?}, which is not set"
            )));
        };
        let mut text = Zeroizing::new(text.to_vec());
        let decrypted = key
            .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(header(id)), &mut text)
            .map_err(|_| Error::Refused(format!("the secret cannot be decrypted with the key {id:?}: it was changed, or encrypted with another key of that id")))?;
        let decrypted = std::str::from_utf8(decrypted)
            .map_err(|_| Error::Refused("the secret is not text".to_owned()))?;
        Ok(Secret::new(decrypted))
    }
}

fn invalid_reference(what: &str) -> Error {
    Error::Reference(format!("invalid encrypted:// reference: it must {what}"))
}

fn header(id: &str) -> Vec<u8> {
    let length = u8::try_from(id.len()).expect("an id is short: it was checked when it was read");
    [&[VERSION, length], id.as_bytes()].concat()
}

fn decode(text: &str) -> Option<Vec<u8>> {
    [URL_SAFE_NO_PAD, URL_SAFE, STANDARD, STANDARD_NO_PAD].iter().find_map(|engine| engine.decode(text).ok())
}

fn parse_key(key_text: &str) -> Option<(String, LessSafeKey)> {
    let (id, key) = key_text.split_once(':')?;
    scrub::register_lasting(key);
    let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    if id.is_empty() || id.len() > ID_LIMIT || !id.bytes().all(is_allowed) {
        return None;
    }
    let key = Zeroizing::new(decode(key)?);
    let key = UnboundKey::new(&AES_256_GCM, &key).ok()?;
    Some((id.to_owned(), LessSafeKey::new(key)))
}

fn fill_random(bytes: &mut [u8]) {
    SystemRandom::new().fill(bytes).expect("the system provides random bytes");
}
