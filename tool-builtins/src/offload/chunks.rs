//! [`Chunks`]: reads the text of a file in chunks, so that no file is in memory as a whole.

use std::path::Path;

use super::reader::{FileReader, ReadError};

/// Number of bytes in a chunk.
const CHUNK: usize = 256 << 10;

/// Reads a file from its beginning to its end.
pub(super) struct Chunks<'r, R> {
    reader: &'r R,
    file: &'r Path,
    position: u64,
    /// Size of the file; `None` before the first part was read.
    size: Option<u64>,
    /// First bytes of a character that continues in the next chunk.
    carry: Vec<u8>,
}

/// Reason why there is no next chunk.
#[derive(Debug)]
pub(super) enum ChunkError {
    Missing,
    NotText,
    Changed,
    Reader(ReadError),
}

impl<'r, R: FileReader> Chunks<'r, R> {
    pub(super) fn new(reader: &'r R, file: &'r Path) -> Self {
        Self {
            reader,
            file,
            position: 0,
            size: None,
            carry: Vec::new(),
        }
    }

    /// Reads the next chunk, which ends at a character boundary; `None` at the end of the file.
    pub(super) async fn next(&mut self) -> Result<Option<String>, ChunkError> {
        loop {
            if self.size.is_some_and(|size| self.position >= size) {
                return if self.carry.is_empty() {
                    Ok(None)
                } else {
                    Err(ChunkError::NotText)
                };
            }
            let part = self.reader.read(self.file, self.position, CHUNK).await;
            let part = part.map_err(ChunkError::Reader)?.ok_or(ChunkError::Missing)?;
            let is_same = self.size.is_none_or(|size| size == part.size);
            if !is_same || (part.bytes.is_empty() && self.position < part.size) {
                return Err(ChunkError::Changed);
            }
            self.size = Some(part.size);
            self.position += part.bytes.len() as u64;
            let mut bytes = std::mem::take(&mut self.carry);
            bytes.extend(part.bytes);
            let whole = match std::str::from_utf8(&bytes) {
                Ok(_) => bytes.len(),
                // The next chunk may have the remaining bytes of the character.
                Err(error) if error.error_len().is_none() => error.valid_up_to(),
                Err(_) => return Err(ChunkError::NotText),
            };
            self.carry = bytes.split_off(whole);
            let text = String::from_utf8(bytes).map_err(|_| ChunkError::NotText)?;
            if !text.is_empty() {
                return Ok(Some(text));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::reader::{FilePart, Reading};
    use super::*;

    /// Reader that returns a few bytes at a time, whatever the limit.
    struct Slow(Vec<u8>, usize);

    impl FileReader for Slow {
        fn read<'a>(&'a self, _: &'a Path, offset: u64, _: usize) -> Reading<'a, Option<FilePart>> {
            Box::pin(async move { Ok(Some(FilePart::from_content(&self.0, offset, self.1))) })
        }
    }

    async fn all(content: &[u8], step: usize) -> Result<String, ChunkError> {
        let reader = Slow(content.to_owned(), step);
        let mut chunks = Chunks::new(&reader, Path::new("/x"));
        let mut text = String::new();
        while let Some(chunk) = chunks.next().await? {
            text.push_str(&chunk);
        }
        Ok(text)
    }

    #[tokio::test]
    async fn keeps_characters_whole() {
        let text = "aé日🦀 and the rest";
        for step in 1..30 {
            assert_eq!(all(text.as_bytes(), step).await.unwrap(), text, "{step}");
        }
        assert_eq!(all(b"", 5).await.unwrap(), "");
    }

    #[tokio::test]
    async fn rejects_invalid_utf8() {
        for (content, step) in [(&b"ab\xff"[..], 2), (b"ab\xe6\x97", 1), (b"\xe6\x97a", 3)] {
            assert!(
                matches!(all(content, step).await, Err(ChunkError::NotText)),
                "{content:?}"
            );
        }
    }
}
