//! Tests of several senders as one, and of the suppression list, on a paused clock.

mod fixtures;
mod reliable;
mod suppression;
