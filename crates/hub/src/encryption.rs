//! The trait for encrypting generated secrets: the hub generates them and never stores one in plain text.

/// Encrypts secrets to references (`encrypted://…`) that the delivering side can decrypt.
pub trait EncryptSecret: Send + Sync {
    /// Encrypts a secret and returns its reference. The error says what an operator must configure.
    fn encrypt(&self, secret: &str) -> Result<String, String>;

    /// Encrypts the secret of a reference again with the current key; `None` if it already uses that key.
    fn reencrypt(&self, reference: &str) -> Result<Option<String>, String>;
}
