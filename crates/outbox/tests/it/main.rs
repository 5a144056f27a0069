//! Tests of the written rows on all three databases, with plain SQL and with the stores that claim them.

mod base;
mod dedupe;
mod guide;
mod rows;
mod times;
