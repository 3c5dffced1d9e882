//! Finds the next quote, backslash or control character of a string: first eight bytes at a time, later 64.

const ONES: u64 = u64::MAX / 0xFF;
const TOPS: u64 = ONES << 7;

/// Returns the number of leading bytes of a string's text that need no escape.
#[doc(hidden)] // internal: used by the JSON parser of `tool-runtime`
#[inline]
pub fn plain(bytes: &[u8]) -> usize {
    // Most keys end in the first word, so this check is inlined and the rest is a function call.
    match bytes.first_chunk::<8>() {
        // The last word overlaps the words before.
        Some(first) => first_special(*first).unwrap_or_else(|| longer(bytes)),
        None => by_words(bytes),
    }
}

fn longer(bytes: &[u8]) -> usize {
    let Some((first, after)) = bytes.split_at_checked(64) else {
        return by_words(bytes);
    };
    let len = by_words(first);
    if len < first.len() {
        return len; // as most strings
    }
    let (blocks, rest) = after.as_chunks::<64>();
    // Without an early exit inside a block, the compiler can vectorize the loop.
    let ends = |block: &&[u8; 64]| block.iter().fold(false, |ends, byte| ends | is_special(*byte));
    let clean = blocks.iter().take_while(|block| !ends(block)).count();
    let last = blocks.get(clean).map_or(rest, <[u8; 64]>::as_slice);
    len + 64 * clean + by_words(last)
}

fn by_words(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    for (index, word) in words.iter().enumerate() {
        if let Some(len) = first_special(*word) {
            return 8 * index + len;
        }
    }
    match bytes.last_chunk::<8>() {
        // The last word overlaps bytes that were already checked and are plain.
        Some(last) => first_special(*last).map_or(bytes.len(), |len| bytes.len() - 8 + len),
        None => rest
            .iter()
            .position(|byte| is_special(*byte))
            .unwrap_or(rest.len()),
    }
}

/// Returns the number of leading bytes of a string's text that need no escape, in quotes of another kind.
#[inline]
pub(crate) fn plain_before(bytes: &[u8], quote: u8) -> usize {
    let quotes = ONES * u64::from(quote);
    let mut rest = bytes;
    while let Some((word, after)) = rest.split_first_chunk::<8>() {
        let word = u64::from_le_bytes(*word);
        let other = word ^ quotes;
        let special = special(word) | other.wrapping_sub(ONES) & !other & TOPS;
        if special != 0 {
            return bytes.len() - rest.len() + special.trailing_zeros() as usize / 8;
        }
        rest = after;
    }
    let stop = rest.iter().position(|byte| is_special(*byte) || *byte == quote);
    bytes.len() - rest.len() + stop.unwrap_or(rest.len())
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// Returns the index of the first special byte of eight.
#[inline]
fn first_special(word: [u8; 8]) -> Option<usize> {
    let special = special(u64::from_le_bytes(word));
    (special != 0).then_some(special.trailing_zeros() as usize / 8)
}

/// Returns the top bit of each special byte; a borrow may also set the bits above the first one.
#[inline]
fn special(word: u64) -> u64 {
    // With one bit flipped, the quote is right after the control characters: one subtraction finds both.
    let control_or_quote = (word ^ (ONES * 2)).wrapping_sub(ONES * 0x21);
    let backslash = (word ^ (ONES * u64::from(b'\\'))).wrapping_sub(ONES);
    (control_or_quote | backslash) & !word & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn finds_every_byte_at_every_offset() {
        for len in (0..20).chain([63, 64, 65, 129, 200]) {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for plain_byte in [0x7F, 0xFF, b'!', b'#'] {
                        let mut text = vec![plain_byte; len];
                        text[at] = byte;
                        let expected = if is_special(byte) { at } else { len };
                        assert_eq!(plain(&text), expected, "{byte} at {at} of {len}");
                    }
                }
            }
        }
    }

    #[test]
    fn finds_other_quotes_at_every_offset() {
        for length in 0..20 {
            for at in 0..length {
                for byte in 0..=u8::MAX {
                    for (plain_byte, quote) in [
                        (0x7F, b'\''),
                        (0xA0, b'\''),
                        (b'&', b'`'),
                        (0xFF, 0xE2),
                        (b'a', b'"'),
                    ] {
                        let mut bytes = vec![plain_byte; length];
                        bytes[at] = byte;
                        let expected = if is_special(byte) || byte == quote {
                            at
                        } else {
                            length
                        };
                        assert_eq!(
                            plain_before(&bytes, quote),
                            expected,
                            "{byte} at {at} of {length}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn finds_the_first_of_two_special_bytes() {
        for second in 1..16 {
            for first in 0..second {
                for (one, other) in [
                    (b'"', b'#'),
                    (b'"', 0),
                    (0x1F, b'"'),
                    (b'\\', b']'),
                    (b'\'', b'&'),
                ] {
                    let mut bytes = [0xA0; 16];
                    (bytes[first], bytes[second]) = (one, other);
                    assert_eq!(plain_before(&bytes, b'\''), first);
                }
            }
        }
    }
}
