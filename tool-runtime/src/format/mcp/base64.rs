//! Decodes base64 (RFC 4648, section 4).

/// Decodes base64 with padding; white space is skipped, since some encoders break lines. `None` if the text is invalid.
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut digits, mut padding) = (0_u32, 0_u32, 0_u32);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        if byte == b'=' {
            padding += 1;
            continue;
        }
        if padding > 0 {
            return None;
        }
        bits = bits << 6 | digit(byte)?;
        digits += 1;
        if digits == 4 {
            let [_, decoded @ ..] = bits.to_be_bytes();
            bytes.extend(decoded);
            (bits, digits) = (0, 0);
        }
    }
    let [_, first, second, _] = (bits << (24 - 6 * digits)).to_be_bytes();
    match (digits, padding) {
        (0, 0) => {}
        (2, 2) => bytes.push(first),
        (3, 1) => bytes.extend([first, second]),
        _ => return None,
    }
    Some(bytes)
}

/// Returns the value of a digit.
fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn decodes_the_vectors_of_the_rfc() {
        for (encoded, decoded) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYg==", "foob"),
            ("Zm9vYmE=", "fooba"),
            ("Zm9v\r\nYmFy\n", "foobar"),
        ] {
            assert_eq!(decode(encoded).unwrap(), decoded.as_bytes(), "{encoded}");
        }
        assert_eq!(decode("+/+/").unwrap(), [0xfb, 0xff, 0xbf]);
    }

    #[test]
    fn rejects_invalid_base64() {
        for invalid in [
            "Z", "Zg", "Zg=", "Zm8", "Zg===", "=", "====", "Zg==Zg==", "Z-9v", "Zm9v!", "Zé",
        ] {
            assert_eq!(decode(invalid), None, "{invalid}");
        }
    }
}
