//! [`FileText`]: decodes the bytes of a file, and encodes them back without a change.

use encoding_rs::Encoding;

/// Number of bytes in which a NUL makes a file binary.
const BINARY_PROBE: usize = 8 << 10;

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";

/// Encoding of a file. A byte order mark is part of the encoding and not of the text.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum TextEncoding {
    Utf8,
    Utf8WithBom,
    Utf16Le,
    Utf16Be,
    /// An encoding that the host named.
    Legacy(&'static Encoding),
}

/// Decoded text whose encoded form is the file, byte for byte.
#[derive(Debug, Clone)]
pub(crate) struct FileText {
    pub(crate) text: String,
    pub(crate) encoding: TextEncoding,
}

/// Reason why bytes are not text.
#[derive(Debug)]
pub(crate) enum NotText {
    Binary,
    /// The bytes are invalid in the encoding of the file.
    Invalid {
        /// Text with U+FFFD in place of invalid bytes.
        lossy: String,
        /// First invalid byte, and its line.
        byte: u8,
        line: usize,
    },
}

impl FileText {
    /// Decodes UTF-8, UTF-8 and UTF-16 with a byte order mark, and the host's encoding if encoding the text gives these bytes again.
    pub(crate) fn decode(bytes: Vec<u8>, legacy: Option<&'static Encoding>) -> Result<Self, NotText> {
        let utf16 = |encoding, unit: fn([u8; 2]) -> u16| {
            Ok(Self {
                text: decode_utf16(&bytes, unit)?,
                encoding,
            })
        };
        match bytes.as_slice() {
            // The mark of UTF-32 begins with the mark of UTF-16.
            [0xff, 0xfe, 0, 0, ..] => return Err(NotText::Binary),
            [0xff, 0xfe, ..] => return utf16(TextEncoding::Utf16Le, u16::from_le_bytes),
            [0xfe, 0xff, ..] => return utf16(TextEncoding::Utf16Be, u16::from_be_bytes),
            _ => {}
        }
        if is_binary(&bytes) {
            return Err(NotText::Binary);
        }
        let (encoding, start) = if bytes.starts_with(UTF8_BOM) {
            (TextEncoding::Utf8WithBom, UTF8_BOM.len())
        } else {
            (TextEncoding::Utf8, 0)
        };
        match String::from_utf8(bytes) {
            Ok(mut text) => {
                text.drain(..start);
                Ok(Self { text, encoding })
            }
            Err(error) => decode_legacy(error.as_bytes(), legacy)
                .ok_or_else(|| invalid_utf8(error.as_bytes(), error.utf8_error().valid_up_to())),
        }
    }

    /// Encodes a text as the file is encoded; a character that the encoding does not have is an error.
    pub(crate) fn encode(text: &str, encoding: TextEncoding) -> Result<Vec<u8>, UnmappableText> {
        let utf16 = |unit: fn(u16) -> [u8; 2]| {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(unit).collect()
        };
        Ok(match encoding {
            TextEncoding::Utf8 => text.as_bytes().to_vec(),
            TextEncoding::Utf8WithBom => [UTF8_BOM, text.as_bytes()].concat(),
            TextEncoding::Utf16Le => utf16(u16::to_le_bytes),
            TextEncoding::Utf16Be => utf16(u16::to_be_bytes),
            TextEncoding::Legacy(encoding) => {
                let (bytes, _, has_unmappable) = encoding.encode(text);
                if has_unmappable {
                    return Err(UnmappableText(encoding.name()));
                }
                bytes.into_owned()
            }
        })
    }
}

/// Returns whether bytes without a byte order mark are binary.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.iter().take(BINARY_PROBE).any(|byte| *byte == 0)
}

/// A text has characters that the encoding with this name does not have.
#[derive(Debug)]
pub(crate) struct UnmappableText(pub(crate) &'static str);

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Result<String, NotText> {
    let (pairs, rest) = bytes.get(2..).unwrap_or_default().as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let mut text = String::with_capacity(bytes.len());
    let mut invalid = None;
    for character in char::decode_utf16(units) {
        let character = character.unwrap_or_else(|error| {
            let [high, _] = error.unpaired_surrogate().to_be_bytes();
            invalid.get_or_insert((high, line_of(&text)));
            char::REPLACEMENT_CHARACTER
        });
        text.push(character);
    }
    if let Some(byte) = rest.first() {
        invalid.get_or_insert((*byte, line_of(&text)));
        text.push(char::REPLACEMENT_CHARACTER);
    }
    match invalid {
        None => Ok(text),
        Some((byte, line)) => Err(NotText::Invalid {
            lossy: text,
            byte,
            line,
        }),
    }
}

fn decode_legacy(bytes: &[u8], legacy: Option<&'static Encoding>) -> Option<FileText> {
    let encoding = legacy?;
    let text = encoding.decode_without_bom_handling_and_without_replacement(bytes)?;
    let (again, _, has_unmappable) = encoding.encode(&text);
    let is_same = !has_unmappable && *again == *bytes;
    is_same.then(|| FileText {
        text: text.into_owned(),
        encoding: TextEncoding::Legacy(encoding),
    })
}

fn invalid_utf8(bytes: &[u8], at: usize) -> NotText {
    let before = bytes.get(..at).unwrap_or_default();
    let text = bytes.strip_prefix(UTF8_BOM).unwrap_or(bytes);
    NotText::Invalid {
        lossy: String::from_utf8_lossy(text).into_owned(),
        byte: bytes.get(at).copied().unwrap_or_default(),
        line: before.split(|byte| *byte == b'\n').count(),
    }
}

fn line_of(text: &str) -> usize {
    text.matches('\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_encoded_as_it_was_decoded() {
        let text = "a\r\nä日🦀\n";
        let utf16 = |unit: fn(u16) -> [u8; 2]| -> Vec<u8> {
            let units = std::iter::once(0xfeff).chain(text.encode_utf16());
            units.flat_map(unit).collect()
        };
        for bytes in [
            text.as_bytes().to_vec(),
            [UTF8_BOM, text.as_bytes()].concat(),
            utf16(u16::to_le_bytes),
            utf16(u16::to_be_bytes),
        ] {
            let decoded = FileText::decode(bytes.clone(), None).unwrap();
            assert_eq!(decoded.text, text);
            assert_eq!(FileText::encode(&decoded.text, decoded.encoding).unwrap(), bytes);
        }
    }

    #[test]
    fn invalid_bytes_have_a_line() {
        for (bytes, expected) in [
            (&b"a\nb\xe9c"[..], (0xe9, 2)),
            (b"\xff\xfea\0\0\xd8b\0", (0xd8, 1)),
            (b"\xff\xfea\0\n\0b", (b'b', 2)),
        ] {
            let Err(NotText::Invalid { lossy, byte, line }) = FileText::decode(bytes.to_vec(), None) else {
                panic!("{bytes:?}")
            };
            assert_eq!((byte, line), expected);
            assert!(lossy.contains('\u{fffd}'), "{lossy}");
        }
        for bytes in [&b"a\0b"[..], b"\xff\xfe\0\0a\0\0\0"] {
            assert!(matches!(
                FileText::decode(bytes.to_vec(), None),
                Err(NotText::Binary)
            ));
        }
    }

    #[test]
    fn legacy_encoding_needs_the_same_bytes_again() {
        let bytes = b"caf\xe9\n".to_vec();
        let decoded = FileText::decode(bytes.clone(), Some(encoding_rs::WINDOWS_1252)).unwrap();
        assert_eq!(decoded.text, "café\n");
        assert_eq!(FileText::encode(&decoded.text, decoded.encoding).unwrap(), bytes);
        assert!(FileText::encode("日", decoded.encoding).is_err());
        // A byte sequence that Shift_JIS decodes and encodes otherwise, or not at all.
        assert!(FileText::decode(b"\x81".to_vec(), Some(encoding_rs::SHIFT_JIS)).is_err());
    }
}
