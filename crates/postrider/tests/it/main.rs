//! Tests of the real binary.

mod bad_input;
mod crash;
mod foreign;
mod prisma;
mod rig;
