//! [`CanonicalText`]: the canonical form of values while it is written, in memory or into a digest.

use crate::wire::walk::has_escapes;

/// Bytes of a canonical form. Up to 64 KiB are kept. Of a longer form only the length is counted; the form is then written a second time,
/// into the hasher of its digest, which needs the length first.
#[derive(Debug)]
pub(crate) struct CanonicalText {
    bytes: Vec<u8>,
    /// Number of bytes that were passed to the hasher or only counted, and are not kept.
    passed: u64,
    hasher: Option<blake3::Hasher>,
    is_kept: bool,
    /// Whether a comma must precede the next item of a list or the next field of an object.
    needs_separator: bool,
}

/// Maximum number of bytes that are kept.
const MAX_KEPT: usize = 64 << 10;

/// Number of bytes for which there is room from the beginning. Most messages are shorter, and a buffer that grows from nothing is moved often.
const CAPACITY: usize = 1 << 10;

impl Default for CanonicalText {
    fn default() -> Self {
        Self {
            bytes: Vec::with_capacity(CAPACITY),
            passed: 0,
            hasher: None,
            is_kept: false,
            needs_separator: false,
        }
    }
}

impl CanonicalText {
    /// Writes a text, and returns all its bytes. A long text is written twice, since a growing buffer takes up to three times its size.
    pub(crate) fn kept(write: impl Fn(&mut Self)) -> Vec<u8> {
        let mut counted = Self::default();
        write(&mut counted);
        if counted.passed == 0 {
            return counted.bytes;
        }
        let mut kept = Self {
            bytes: Vec::with_capacity(usize::try_from(counted.len()).unwrap_or_default()),
            is_kept: true,
            ..Self::default()
        };
        write(&mut kept);
        kept.bytes
    }

    /// Returns whether `write` writes these bytes.
    pub(crate) fn equals(bytes: &[u8], write: impl Fn(&mut Self)) -> bool {
        let mut text = Self::default();
        write(&mut text);
        text.len() == bytes.len() as u64
            && text
                .bytes()
                .map_or_else(|| Self::kept(&write) == bytes, |written| written == bytes)
    }

    /// Writes a text into a hasher, and returns the hash.
    pub(super) fn hashed(hasher: blake3::Hasher, write: impl Fn(&mut Self)) -> [u8; 32] {
        let mut text = Self {
            hasher: Some(hasher),
            ..Self::default()
        };
        write(&mut text);
        text.pass();
        text.hasher
            .map(|hasher| *hasher.finalize().as_bytes())
            .unwrap_or_default()
    }

    /// Returns the number of bytes.
    pub(super) fn len(&self) -> u64 {
        self.passed + self.bytes.len() as u64
    }

    /// Returns all bytes; `None` if not all of them were kept.
    pub(super) fn bytes(&self) -> Option<&[u8]> {
        (self.passed == 0).then_some(&self.bytes)
    }

    /// Writes bytes of a value.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if let Some(last) = bytes.last() {
            self.needs_separator = !matches!(last, b'[' | b'{' | b':');
        }
        if !self.is_kept && self.bytes.len() + bytes.len() > MAX_KEPT {
            self.pass();
            if bytes.len() > MAX_KEPT {
                if let Some(hasher) = &mut self.hasher {
                    hasher.update(bytes);
                }
                self.passed += bytes.len() as u64;
                return;
            }
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Writes the comma before an item or a field that is not the first.
    pub(super) fn separate(&mut self) {
        if self.needs_separator {
            self.push(b",");
        }
    }

    /// Writes a string.
    pub(super) fn push_string(&mut self, text: &str) {
        if !has_escapes(text) {
            self.push(b"\"");
            self.push(text.as_bytes());
            self.push(b"\"");
            return;
        }
        // RFC 8785 has the escapes of `serde_json`. Serializing a string never fails.
        let json = serde_json::to_string(text).unwrap_or_default();
        self.push(json.as_bytes());
    }

    /// Writes characters inside of a string.
    pub(super) fn push_escaped(&mut self, text: &str) {
        if !has_escapes(text) {
            return self.push(text.as_bytes());
        }
        let json = serde_json::to_string(text).unwrap_or_default();
        let escaped = json.get(1..json.len().saturating_sub(1));
        self.push(escaped.unwrap_or_default().as_bytes());
    }

    /// Passes the bytes to the hasher.
    fn pass(&mut self) {
        if let Some(hasher) = &mut self.hasher {
            hasher.update(&self.bytes);
        }
        self.passed += self.bytes.len() as u64;
        self.bytes.clear();
    }
}
