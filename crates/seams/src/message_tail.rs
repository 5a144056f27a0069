//! The rest of a large message: read while it is sent, so that the whole is never in memory.
//!
//! Invariant: what the blocks return has CR LF at the end of every line and no other CR, ends with a line end, and is as
//! long as announced; otherwise there is an error.

use std::fmt::Debug;
use std::io;

use async_trait::async_trait;

/// The part of a message that is too large for memory.
pub trait MessageTail: Debug + Send + Sync {
    /// Returns the size, in bytes.
    fn size(&self) -> u64;

    /// Whether it is ASCII.
    fn is_ascii(&self) -> bool;

    /// Returns a reader from the beginning of the rest.
    fn blocks(&self) -> Box<dyn Blocks>;
}

/// Reads the rest block by block.
#[async_trait]
pub trait Blocks: Send {
    /// Returns the next block; `None` at the end. Not cancel-safe: a block may be read and lost; start again then.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>>;

    /// Returns the next block, like [`next`](Self::next), but blocks the thread.
    fn read(&mut self) -> io::Result<Option<Vec<u8>>>;
}
