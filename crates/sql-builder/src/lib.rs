//! SQL dialects, and the builder with which the stores, the hub and the producer library write statements.
//!
//! Owns: quoting of names, placeholders, casts, and the order of values. Must not: depend on any crate, because
//! applications compile it with the producer library. Invariant: a value is bound, never part of the text, and the
//! placeholders of the text are numbered as the values are listed.

mod builder;
mod dialect;

pub use builder::{Argument, SqlBuilder, Statement};
pub use dialect::Dialect;
