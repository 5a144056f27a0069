//! Composed messages are parsed by another implementation, and must come back unchanged.

mod dkim;
mod injection;
mod roundtrip;
mod screenshots;
