//! The seam to what keeps secrets: the hub makes them, and never stores one in the clear.

/// Turns a fresh secret into a reference (`encrypted://…`) that the delivering side can open.
pub trait Seal: Send + Sync {
    /// The error says what an operator must set.
    fn seal(&self, secret: &str) -> Result<String, String>;

    /// The secret of an `encrypted://` reference, sealed with the key of today; `None` where it is so already.
    fn seal_anew(&self, reference: &str) -> Result<Option<String>, String>;
}
