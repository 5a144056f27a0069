//! What is composed is parsed again by another implementation, and must come back as it went in.

mod dkim;
mod injection;
mod looks;
mod roundtrip;
