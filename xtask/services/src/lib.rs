//! Real servers for tests, benches and people: PostgreSQL, MariaDB, an SMTP sink and a scriptable SMTP server; brokers:
//! NATS, RabbitMQ, Tansu (Kafka's protocol) and Ministack (SQS and DynamoDB), and clients of them that are not ours;
//! a browser; and a TCP proxy that injects network faults.
//!
//! Owns: installing what is missing (Debian packages, Python wheels), a private folder and port for each server, waiting until it
//! answers, and its end. Must not: touch system services, or know anything about Postrider itself.
//!
//! Invariant: no server outlives the process that started it, however that process ends. Each server has a
//! guardian, a shell that waits on a pipe held by us; when the pipe closes, it kills the server and removes
//! its folder. That holds for Ctrl-C, a panic, `exit` and SIGKILL alike, and needs no signal code of ours.
//!
//! Everything here blocks; call it from a plain thread, or from `spawn_blocking`.
//!
//! The databases run in a time zone far from UTC on purpose: a session that forgets to set its own is found at once.

pub mod boto3;
mod brokers;
mod browser;
mod error;
mod fleet;
mod folder;
mod install;
mod mariadb;
mod ministack;
mod mysql;
mod nats;
mod outsider;
mod pgbouncer;
mod port;
mod postgres;
mod proxy;
mod rabbitmq;
pub mod schemathesis;
mod server;
mod signal;
mod smtp;
mod standard_webhooks;
mod tansu;
mod tool;
mod user;
mod wheel;

pub use brokers::Brokers;
pub use browser::Browser;
pub use error::{Error, Result};
pub use fleet::Fleet;
pub use mariadb::MariaDb;
pub use ministack::Ministack;
pub use mysql::MySql;
pub use nats::Nats;
pub use outsider::Outsider;
pub use pgbouncer::{PgBouncer, PoolMode};
pub use postgres::Postgres;
pub use proxy::{LostAnswer, NewConnections, Proxy};
pub use rabbitmq::RabbitMq;
pub use server::Durability;
pub use smtp::{SmtpOptions, SmtpServer, SmtpSink, Tls};
pub use standard_webhooks::{Library, Signed, verify};
pub use tansu::Tansu;
pub use tool::Tool;
