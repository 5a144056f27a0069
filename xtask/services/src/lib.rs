//! Real servers for tests, benches and manual use: PostgreSQL, MariaDB, an SMTP sink and a scriptable SMTP server;
//! brokers: NATS, RabbitMQ, Tansu (Kafka's protocol) and Ministack (SQS and DynamoDB), with independent clients; a
//! browser; and a TCP proxy that injects network faults.
//!
//! Owns: installing what is missing (Debian packages, Python wheels), a private folder and port for each server,
//! waiting until it is ready, and stopping it. Must not: touch system services, or depend on Postrider.
//!
//! Invariant: no server outlives the process that started it, however that process ends. Each server has a guardian, a
//! shell that reads a pipe held by this process; when the pipe closes, it kills the server and removes its folder. This
//! covers Ctrl-C, a panic, `exit` and SIGKILL, and needs no signal handlers.
//!
//! All functions block; call them from a plain thread, or from `spawn_blocking`.
//!
//! The databases run in a time zone far from UTC on purpose, to find sessions that forget to set their own.

pub mod boto3;
mod broker_client;
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
mod peers;
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

pub use broker_client::BrokerClient;
pub use brokers::Brokers;
pub use browser::Browser;
pub use error::{Error, Result};
pub use fleet::Fleet;
pub use mariadb::MariaDb;
pub use ministack::Ministack;
pub use mysql::MySql;
pub use nats::Nats;
pub use peers::Peers;
pub use pgbouncer::{PgBouncer, PoolMode};
pub use postgres::Postgres;
pub use proxy::{LostAnswer, NewConnections, Proxy};
pub use rabbitmq::RabbitMq;
pub use server::Durability;
pub use smtp::{SmtpOptions, SmtpServer, SmtpSink, Tls};
pub use standard_webhooks::{Library, Signed, verify};
pub use tansu::Tansu;
pub use tool::Tool;
