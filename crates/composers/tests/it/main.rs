//! Composers through their public face, and the notification lane as a whole, with the clock in our hands.

mod lane;
mod public;
mod semantics;
