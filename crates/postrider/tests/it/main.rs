//! The real binary, from outside: what it prints, what it leaves behind, and its exit codes.

mod api;
mod bad_input;
mod book;
mod commands;
mod crash;
mod databases;
mod demo;
mod emails;
mod foreign;
mod help;
mod json;
mod notifications;
mod outage;
mod outbox;
mod own_table;
mod packaging;
mod pools;
mod prisma;
mod queues;
mod rig;
mod run;
mod senders;
mod settings;
mod shop;
mod suppress;
mod webhooks;
