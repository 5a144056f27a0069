//! Fingerprints of rows: they distinguish a mail from a later one with the same id.
//!
//! Invariant: every attempt of an unchanged row has the same fingerprint. So it is made of what the row says, not of the
//! message, whose date, templates and signatures change.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use postrider_seams::{Fields, Value};
use ring::digest::{Context, SHA256};

/// Bytes of the hash that are kept.
const KEPT: usize = 16;

pub(crate) struct Fingerprint(Context);

impl Fingerprint {
    pub(crate) fn new() -> Self {
        Self(Context::new(&SHA256))
    }

    /// Adds one part, preceded by its length, so that the parts stay separate.
    pub(crate) fn add(&mut self, part: &[u8]) {
        self.0.update(&(part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    /// Adds fields with their names. A field that is NULL counts as one that the table does not have.
    pub(crate) fn add_fields(&mut self, fields: &Fields, names: &[&str]) {
        for name in names {
            match fields.get(name) {
                Value::Null => continue,
                Value::Text(text) => self.add(text.as_bytes()),
                Value::Bytes(bytes) => self.add(bytes),
                Value::Int(number) => self.add(number.to_string().as_bytes()),
                Value::Bool(flag) => self.add(flag.to_string().as_bytes()),
                Value::Float(number) => self.add(number.to_string().as_bytes()),
            }
            self.add(name.as_bytes());
        }
    }

    pub(crate) fn finish(self) -> String {
        URL_SAFE_NO_PAD.encode(&self.0.finish().as_ref()[..KEPT])
    }
}
