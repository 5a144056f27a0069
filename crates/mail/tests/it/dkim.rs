//! Signatures against vectors.
