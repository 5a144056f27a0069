//! Line ends of a message, converted to those that SMTP requires.

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
