//! Writes the text of a mail to the connection in blocks, from memory and then from its file, dot-stuffed.

use postrider_seams::Mail;
use postrider_seams::message_tail::Blocks;

use super::SmtpSession;
use crate::encode;
use crate::error::ConnectionError;

/// Size of the blocks in which a text is written, in bytes.
const BLOCK: usize = 256 * 1024;

/// A write that failed.
pub(super) struct MailWriteError {
    pub error: ConnectionError,
    /// Whether the final dot may have been received.
    pub dot_sent: bool,
}

impl SmtpSession<'_, '_> {
    /// Writes the text and its final dot; the last block stays in the buffer.
    pub(super) async fn write_text(&mut self, mail: &Mail) -> Result<(), MailWriteError> {
        for piece in encode::dot_stuffed(&mail.message).flat_map(|piece| piece.chunks(BLOCK)) {
            self.buffer(piece).await?;
        }
        let Some(rest) = &mail.rest else {
            self.connection.out.extend_from_slice(encode::text_end(&mail.message));
            return Ok(());
        };
        let mut blocks = rest.blocks();
        let mut dot_stuffer = encode::DotStuffer::default();
        while let Some(block) = self.read_block(&mut *blocks).await? {
            for piece in dot_stuffer.dot_stuffed(&block).flat_map(|piece| piece.chunks(BLOCK)) {
                self.buffer(piece).await?;
            }
        }
        // The text always ends with a line end.
        self.connection.out.extend_from_slice(b".\r\n");
        Ok(())
    }

    async fn buffer(&mut self, piece: &[u8]) -> Result<(), MailWriteError> {
        if self.connection.out.len() + piece.len() > BLOCK {
            let flushed = self.connection.flush(self.deadline).await;
            flushed.map_err(|failed| MailWriteError { error: failed.error, dot_sent: false })?;
        }
        self.connection.out.extend_from_slice(piece);
        Ok(())
    }

    /// Reads the next block. A read error closes the connection before the final dot, so that no mail was sent.
    async fn read_block(&self, blocks: &mut dyn Blocks) -> Result<Option<Vec<u8>>, MailWriteError> {
        let lost = |reason: String| MailWriteError { error: ConnectionError::Lost(reason), dot_sent: false };
        match tokio::time::timeout_at(self.deadline, blocks.next()).await {
            Ok(read) => read.map_err(|error| lost(format!("the message's file: {error}"))),
            Err(_) => Err(lost("the message's file could not be read in time".to_owned())),
        }
    }
}
