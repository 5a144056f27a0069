//! Drafts for the tables of the recipes, and for tables that nobody knows.

mod ddl;
mod guesses;
mod recipes;
