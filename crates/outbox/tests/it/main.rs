//! Rows as they are written, judged by plain SQL and by the stores that drain them, on all three databases.

mod base;
mod dedupe;
mod guide;
mod rows;
mod times;
