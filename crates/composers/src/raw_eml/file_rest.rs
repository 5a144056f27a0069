//! The rest of a large .eml file, read while it is sent, so that the whole is never in memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use async_trait::async_trait;
use postrider_seams::message_tail::{Blocks, MessageTail};

use super::line_ends::LineEnds;

/// Bytes per read of the file.
const BLOCK: usize = 256 * 1024;

/// A file from an offset on, whose size after conversion is known.
#[derive(Debug, Clone)]
pub struct FileRest {
    file: Arc<File>,
    start: u64,
    size: u64,
    ascii: bool,
}

impl FileRest {
    /// Reads the file from `start` on to learn its size, and keeps nothing in memory. Blocks.
    pub fn open(file: File, start: u64) -> io::Result<Self> {
        let mut rest = Self { file: Arc::new(file), start, size: 0, ascii: true };
        let mut blocks = FileBlocks { left: None, ..rest.file_blocks() };
        while let Some(block) = blocks.read()? {
            rest.size += block.len() as u64;
            rest.ascii &= block.is_ascii();
        }
        Ok(rest)
    }

    fn file_blocks(&self) -> FileBlocks {
        FileBlocks {
            file: Arc::clone(&self.file),
            at: self.start,
            left: Some(self.size),
            ends: LineEnds::default(),
        }
    }
}

impl MessageTail for FileRest {
    fn size(&self) -> u64 {
        self.size
    }

    fn is_ascii(&self) -> bool {
        self.ascii
    }

    fn blocks(&self) -> Box<dyn Blocks> {
        Box::new(self.file_blocks())
    }
}

/// Reads the rest block by block.
#[derive(Debug, Clone)]
struct FileBlocks {
    file: Arc<File>,
    at: u64,
    /// Bytes that remain; `None` while `FileRest::open` determines the size.
    left: Option<u64>,
    ends: LineEnds,
}

#[async_trait]
impl Blocks for FileBlocks {
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut own = self.clone();
        let task = tokio::task::spawn_blocking(move || {
            let read = own.read();
            (own, read)
        });
        let (own, read) = task.await.map_err(io::Error::other)?;
        *self = own;
        read
    }

    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
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
}

impl FileBlocks {
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

    fn rest(content: &[u8], start: u64) -> (tempfile::NamedTempFile, FileRest) {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(content).unwrap();
        let rest = FileRest::open(file.reopen().unwrap(), start).unwrap();
        (file, rest)
    }

    async fn load(rest: &FileRest) -> io::Result<Vec<u8>> {
        let (mut whole, mut blocks) = (Vec::new(), rest.blocks());
        while let Some(block) = blocks.next().await? {
            whole.extend(block);
        }
        Ok(whole)
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
            assert_eq!(load(&rest).await.unwrap(), expected);
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
        assert!(load(&rest).await.is_err());
    }
}
