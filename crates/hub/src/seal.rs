//! The trait for encrypting generated secrets: the hub generates them and never stores one in plain text.

/// Encrypts secrets to references (`encrypted://…`) that the delivering side can decrypt.
pub trait Seal: Send + Sync {
    /// Encrypts a secret and returns its reference. The error says what an operator must configure.
    fn seal(&self, secret: &str) -> Result<String, String>;

    /// Encrypts the secret of a reference again with the current key; `None` if it already uses that key.
    fn seal_anew(&self, reference: &str) -> Result<Option<String>, String>;
}
