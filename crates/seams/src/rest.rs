//! The rest of a large message, in a file: read while it is sent, so that the whole is never in memory.
//!
//! Invariant: the output has CR LF at the end of every line and no other CR, ends with a line end, and is as long as
//! announced; otherwise there is an error.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

/// Bytes per read of the file.
const BLOCK: usize = 256 * 1024;

/// Converts every line end to CR LF, block by block: LF, any number of CRs followed by LF, or a single CR (old files).
#[derive(Debug, Clone, Default)]
pub struct LineEnds {
    /// Trailing CRs of the last block, before it is known whether an LF follows.
    returns: usize,
    /// Whether the last line of the output has no end yet.
    open_line: bool,
}

impl LineEnds {
    /// Appends the converted block to `out`.
    pub fn push(&mut self, block: &[u8], out: &mut Vec<u8>) {
        let mut block = block;
        while let Some(first) = block.first() {
            let length = match first {
                b'\n' => {
                    out.extend_from_slice(b"\r\n");
                    (self.returns, self.open_line) = (0, false);
                    1
                }
                b'\r' => {
                    self.returns += 1;
                    1
                }
                _ => {
                    self.end_returns(out);
                    let end = block.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
                    let text = &block[..end.unwrap_or(block.len())];
                    out.extend_from_slice(text);
                    self.open_line = true;
                    text.len()
                }
            };
            block = &block[length..];
        }
    }

    /// Ends the last line if it is open. Call it once, after the last block.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        self.end_returns(out);
        if std::mem::take(&mut self.open_line) {
            out.extend_from_slice(b"\r\n");
        }
    }

    fn end_returns(&mut self, out: &mut Vec<u8>) {
        for _ in 0..std::mem::take(&mut self.returns) {
            out.extend_from_slice(b"\r\n");
            self.open_line = false;
        }
    }
}

/// A file from an offset on, whose size after conversion is known.
#[derive(Debug, Clone)]
pub struct Rest {
    file: Arc<File>,
    start: u64,
    size: u64,
    ascii: bool,
}

impl Rest {
    /// Reads the file from `start` on to learn its size, and keeps nothing in memory. Blocks.
    pub fn open(file: File, start: u64) -> io::Result<Self> {
        let mut rest = Self { file: Arc::new(file), start, size: 0, ascii: true };
        let mut blocks = Blocks { left: None, ..rest.blocks() };
        while let Some(block) = blocks.read()? {
            rest.size += block.len() as u64;
            rest.ascii &= block.is_ascii();
        }
        Ok(rest)
    }

    /// Returns the size of the output, in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Whether the output is ASCII.
    pub fn is_ascii(&self) -> bool {
        self.ascii
    }

    /// Returns a reader from the beginning of the rest.
    pub fn blocks(&self) -> Blocks {
        Blocks {
            file: Arc::clone(&self.file),
            at: self.start,
            left: Some(self.size),
            ends: LineEnds::default(),
        }
    }

    /// Returns the whole output, for callers that cannot stream it.
    pub async fn load(&self) -> io::Result<Vec<u8>> {
        let mut whole = Vec::new();
        let mut blocks = self.blocks();
        while let Some(block) = blocks.next().await? {
            whole.extend_from_slice(&block);
        }
        Ok(whole)
    }
}

/// Reads the rest block by block.
#[derive(Debug, Clone)]
pub struct Blocks {
    file: Arc<File>,
    at: u64,
    /// Bytes that remain; `None` while `Rest::open` determines the size.
    left: Option<u64>,
    ends: LineEnds,
}

impl Blocks {
    /// Returns the next block; `None` at the end. Not cancel-safe: a block may be read and lost; start again then.
    pub async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut own = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let read = own.read();
            (own, read)
        });
        let (own, read) = task.await.map_err(io::Error::other)?;
        *self = own;
        read
    }

    /// Returns the next block, like [`next`](Self::next), but blocks the thread.
    pub fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut raw = vec![0; BLOCK];
        let count = self.file.read_at(&mut raw, self.at)?;
        self.at += count as u64;
        let mut block = Vec::with_capacity(count + count / 16 + 2);
        self.ends.push(&raw[..count], &mut block);
        if count == 0 {
            self.ends.finish(&mut block);
        }
        self.announce(block.len() as u64, count == 0)?;
        Ok((count > 0 || !block.is_empty()).then_some(block))
    }

    /// Checks the number of bytes: a file that was changed meanwhile must not be sent as if it had not.
    fn announce(&mut self, count: u64, ended: bool) -> io::Result<()> {
        let Some(left) = self.left else { return Ok(()) };
        let left = left.checked_sub(count).filter(|left| !ended || *left == 0);
        self.left = Some(left.ok_or_else(|| io::Error::other("the file was changed while it was sent"))?);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn rest(content: &[u8], start: u64) -> (tempfile::NamedTempFile, Rest) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let rest = Rest::open(file.reopen().unwrap(), start).unwrap();
        (file, rest)
    }

    #[tokio::test]
    async fn e08_every_line_ends_as_smtp_demands() {
        for (content, expected) in [
            (&b"head\n\na\nb\r\nc\rd\r\r\n"[..], &b"a\r\nb\r\nc\r\nd\r\n"[..]),
            (b"head\n\na\r\rb\r", b"a\r\n\r\nb\r\n"),
            (b"head\n\nno end", b"no end\r\n"),
            (b"head\n\n\r", b"\r\n"),
            (b"head\n\n", b""),
        ] {
            let (_file, rest) = rest(content, 6);
            assert_eq!(rest.load().await.unwrap(), expected);
            assert_eq!(rest.size(), expected.len() as u64);
            assert!(rest.is_ascii());
        }
        assert!(!rest("ü\n".as_bytes(), 0).1.is_ascii());
    }

    #[tokio::test]
    async fn e08_a_large_file_comes_in_pieces_whatever_they_cut() {
        let mut content = Vec::new();
        while content.len() < 3 * BLOCK {
            content.extend_from_slice(format!("line {}\r\n", content.len()).as_bytes());
        }
        let (_file, rest) = rest(&content, 0);
        let mut blocks = rest.blocks();
        let mut whole = Vec::new();
        while let Some(block) = blocks.next().await.unwrap() {
            assert!(block.len() <= 2 * BLOCK + 2);
            whole.extend(block);
        }
        assert_eq!(whole, content);
    }

    #[tokio::test]
    async fn a_file_that_changed_meanwhile_is_an_error() {
        let (mut file, rest) = rest(b"a\n", 0);
        file.write_all(b"b\n").unwrap();
        assert!(rest.load().await.is_err());
    }
}
