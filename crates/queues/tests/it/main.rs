//! Every queue on a real broker: published pointers are received, acknowledged ones are gone, and no message on a queue
//! is an error.

mod broker;
mod rules;
