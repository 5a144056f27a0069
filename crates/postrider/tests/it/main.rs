//! The real binary, from outside: what it prints, what it leaves behind, and its exit codes.

mod commands;
mod databases;
mod demo;
mod help;
mod own_table;
mod run;
mod settings;
mod shop;
