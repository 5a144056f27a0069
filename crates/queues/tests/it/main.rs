//! Every queue on a real broker: what is published comes, once it is acknowledged it is gone, and nothing on a queue is an
//! error.

mod broker;
mod rules;
