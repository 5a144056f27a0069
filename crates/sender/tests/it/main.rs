//! Several senders as one, and the list, on a paused clock.

mod reliable;
mod suppressing;
mod world;
