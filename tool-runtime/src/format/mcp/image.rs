//! Checks images of a result: an image that the API refuses would make the API refuse every later request of the
//! conversation.

use super::base64;
use crate::wire::message::Block;

/// Maximum number of images in a result. Above 20 images in a request, the API accepts fewer pixels.
pub(super) const MAX_IMAGES: usize = 20;
/// Maximum length of an image in base64, which the Messages API measures, not the length of the decoded image.
const MAX_ENCODED_LENGTH: usize = 5 * 1024 * 1024;
/// Maximum number of pixels of a side.
const MAX_SIDE: u32 = 8000;

/// Creates the block of an image whose type is in its first bytes.
///
/// # Errors
///
/// Returns the reason why the API would refuse the image, as a clause.
pub(super) fn block(data: &str) -> Result<Block, String> {
    if data.len() > MAX_ENCODED_LENGTH {
        return Err("it has more than 5 MB".to_owned());
    }
    let bytes = base64::decode(data).ok_or("its base64 is invalid")?;
    let (media_type, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        ("image/png", png_size(&bytes))
    } else if bytes.starts_with(b"\xff\xd8\xff") {
        ("image/jpeg", jpeg_size(&bytes))
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        ("image/gif", gif_size(&bytes))
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
        ("image/webp", webp_size(&bytes))
    } else {
        return Err("it does not begin like a JPEG, PNG, GIF or WebP image".to_owned());
    };
    match size {
        Some((width, height)) if width == 0 || height == 0 => Err("it has no pixels".to_owned()),
        Some((width, height)) if width.max(height) > MAX_SIDE => Err(format!(
            "it has {width} x {height} pixels; expected at most {MAX_SIDE} a side"
        )),
        Some(_) if data.contains(|c: char| c.is_ascii_whitespace()) => Ok(Block::image(
            media_type,
            data.split_ascii_whitespace().collect::<String>(),
        )),
        Some(_) => Ok(Block::image(media_type, data)),
        None => Err("it is incomplete".to_owned()),
    }
}

/// Width and height, from the header of an image; `None` if the header is incomplete.
type PixelSize = Option<(u32, u32)>;

/// Reads the chunk `IHDR`.
fn png_size(bytes: &[u8]) -> PixelSize {
    (bytes.get(12..16)? == b"IHDR").then_some(())?;
    let side = |start| Some(u32::from_be_bytes(array(bytes, start)?));
    Some((side(16)?, side(20)?))
}

/// Reads the logical screen.
fn gif_size(bytes: &[u8]) -> PixelSize {
    let side = |start| Some(u16::from_le_bytes(array(bytes, start)?).into());
    Some((side(6)?, side(8)?))
}

/// Reads the start of the frame, which follows segments of any length.
fn jpeg_size(bytes: &[u8]) -> PixelSize {
    let mut start = 2;
    loop {
        let [marker, kind] = array(bytes, start)?;
        match (marker, kind) {
            // Bytes of 0xFF may fill the space before a marker.
            (0xff, 0xff) => start += 1,
            // Markers without a segment.
            (0xff, 0x01 | 0xd0..=0xd8) => start += 2,
            // The image data without a frame, or no marker.
            (0xff, 0xd9 | 0xda) => return None,
            // All starts of frames, without the tables (DHT, JPG, DAC) between.
            (0xff, 0xc0..=0xcf) if !matches!(kind, 0xc4 | 0xc8 | 0xcc) => {
                let side = |offset| Some(u16::from_be_bytes(array(bytes, start + offset)?).into());
                return Some((side(7)?, side(5)?));
            }
            (0xff, _) => start += 2 + usize::from(u16::from_be_bytes(array(bytes, start + 2)?)),
            _ => return None,
        }
    }
}

/// Reads the first chunk: lossy, lossless or extended.
fn webp_size(bytes: &[u8]) -> PixelSize {
    match bytes.get(12..16)? {
        b"VP8 " => {
            (bytes.get(23..26)? == b"\x9d\x01\x2a").then_some(())?;
            let side = |start| Some(u32::from(u16::from_le_bytes(array(bytes, start)?) & 0x3fff));
            Some((side(26)?, side(28)?))
        }
        b"VP8L" => {
            (bytes.get(20)? == &0x2f).then_some(())?;
            let bits = u32::from_le_bytes(array(bytes, 21)?);
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        b"VP8X" => {
            let side = |start| {
                let [low, middle, high] = array(bytes, start)?;
                Some(u32::from_le_bytes([low, middle, high, 0]) + 1)
            };
            Some((side(24)?, side(27)?))
        }
        _ => None,
    }
}

/// Returns the bytes from a position.
fn array<const N: usize>(bytes: &[u8], start: usize) -> Option<[u8; N]> {
    bytes.get(start..)?.first_chunk().copied()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::block;

    /// Encodes as base64.
    fn encode(bytes: &[u8]) -> String {
        const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let mut text = String::new();
        for chunk in bytes.chunks(3) {
            let mut padded = [0; 3];
            padded[..chunk.len()].copy_from_slice(chunk);
            let bits = u32::from_be_bytes([0, padded[0], padded[1], padded[2]]);
            for index in 0..4 {
                let digit = char::from(DIGITS[(bits >> (18 - 6 * index) & 63) as usize]);
                text.push(if index > chunk.len() { '=' } else { digit });
            }
        }
        text
    }

    fn png(width: u32, height: u32) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes
    }

    /// Returns a JPEG whose frame follows metadata.
    fn jpeg(width: u16, height: u16, metadata: usize) -> Vec<u8> {
        let mut bytes = b"\xff\xd8\xff\xe1".to_vec();
        bytes.extend(u16::try_from(metadata + 2).unwrap().to_be_bytes());
        bytes.extend(vec![0xff; metadata]);
        bytes.extend(b"\xff\xc4\0\x03\0\xff\xff\xc2\0\x11\x08");
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes
    }

    fn gif(width: u16, height: u16) -> Vec<u8> {
        let mut bytes = b"GIF89a".to_vec();
        bytes.extend(width.to_le_bytes());
        bytes.extend(height.to_le_bytes());
        bytes
    }

    fn webp(chunk: &[u8]) -> Vec<u8> {
        [b"RIFF\0\0\0\0WEBP", chunk].concat()
    }

    #[test]
    fn reads_the_type_from_the_first_bytes() {
        for (bytes, media_type) in [
            (png(8000, 8000), "image/png"),
            (jpeg(8000, 1, 0), "image/jpeg"),
            (jpeg(1, 8000, 60_000), "image/jpeg"),
            (gif(8000, 1), "image/gif"),
            (
                webp(b"VP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x40\x1f\x40\x1f"),
                "image/webp",
            ),
            (webp(b"VP8L\0\0\0\0\x2f\x3f\xdf\xcf\x07"), "image/webp"),
            (webp(b"VP8X\0\0\0\0\0\0\0\0\x3f\x1f\0\x3f\x1f\0"), "image/webp"),
        ] {
            let read = serde_json::to_value(block(&encode(&bytes)).unwrap()).unwrap();
            assert_eq!(read["source"]["media_type"], json!(media_type));
            assert_eq!(read["source"]["data"], json!(encode(&bytes)));
        }
        let (start, end) = (&encode(&png(1, 1))[..9], &encode(&png(1, 1))[9..]);
        let broken = format!("{start}\r\n {end}\n");
        let read = serde_json::to_value(block(&broken).unwrap()).unwrap();
        assert_eq!(read["source"]["data"], json!(encode(&png(1, 1))));
    }

    #[test]
    fn rejects_what_the_api_refuses() {
        let large = encode(&png(1, 1)) + &"AAAA".repeat(5 * 1024 * 1024 / 4);
        for (data, reason) in [
            (large.as_str(), "it has more than 5 MB"),
            ("iVBORw0KGgo", "its base64 is invalid"),
            ("", "it does not begin like a JPEG, PNG, GIF or WebP image"),
            (
                &encode(b"<svg/>"),
                "it does not begin like a JPEG, PNG, GIF or WebP image",
            ),
            ("iVBORw0KGgo=", "it is incomplete"),
            (&encode(&jpeg(1, 1, 9)[..25]), "it is incomplete"),
            (&encode(b"\xff\xd8\xff\xda\0\x02"), "it is incomplete"),
            (&encode(&webp(b"VP9 ")), "it is incomplete"),
            (&encode(&gif(0, 5)), "it has no pixels"),
            (
                &encode(&png(8001, 2)),
                "it has 8001 x 2 pixels; expected at most 8000 a side",
            ),
            (
                &encode(&jpeg(2, 8001, 3)),
                "it has 2 x 8001 pixels; expected at most 8000 a side",
            ),
        ] {
            assert_eq!(block(data).unwrap_err(), reason);
        }
    }

    /// Any prefix of an image is an image or an error.
    #[test]
    fn truncated_images_are_errors() {
        for bytes in [
            png(5, 5),
            jpeg(5, 5, 40),
            gif(5, 5),
            webp(b"VP8X\0\0\0\0\0\0\0\0\x3f\x1f\0\x3f\x1f\0"),
        ] {
            for end in 0..bytes.len() {
                assert!(block(&encode(&bytes[..end])).is_err(), "{end} bytes of {bytes:?}");
            }
            assert!(block(&encode(&bytes)).is_ok());
        }
    }
}
