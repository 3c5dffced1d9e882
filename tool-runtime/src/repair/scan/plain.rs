//! How far a string goes on without a quote, a backslash or a control character: eight bytes at a time, later 64.

const ONES: u64 = u64::MAX / 0xFF;
const TOPS: u64 = ONES << 7;

/// How many of the first bytes of a string's text stand for themselves.
pub(crate) fn plain(bytes: &[u8]) -> usize {
    let (words, _) = bytes.as_chunks::<8>();
    let mut len = 0;
    for word in words.iter().take(WORDS) {
        let special = special(u64::from_le_bytes(*word));
        if special != 0 {
            return len + special.trailing_zeros() as usize / 8;
        }
        len += 8;
    }
    len + if words.len() < WORDS {
        one_by_one(bytes.get(len..).unwrap_or_default())
    } else {
        long(bytes.get(len..).unwrap_or_default())
    }
}

/// Most strings end within so many words.
const WORDS: usize = 8;

/// The same for what is likely to go on for long.
fn long(bytes: &[u8]) -> usize {
    let (blocks, _) = bytes.as_chunks::<64>();
    // No early end inside a block: that is what lets the compiler look at many bytes in one instruction.
    let ends = |block: &[u8; 64]| block.iter().fold(false, |ends, byte| ends | is_special(*byte));
    let len = 64 * blocks.iter().position(ends).unwrap_or(blocks.len());
    len + one_by_one(bytes.get(len..).unwrap_or_default())
}

fn one_by_one(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .position(|byte| is_special(*byte))
        .unwrap_or(bytes.len())
}

fn is_special(byte: u8) -> bool {
    byte < 0x20 || byte == b'"' || byte == b'\\'
}

/// The top bit of the first special byte of eight, counted from the lowest; those above it may be wrong.
fn special(word: u64) -> u64 {
    let equal = |byte: u8| {
        let difference = word ^ (ONES * u64::from(byte));
        difference.wrapping_sub(ONES) & !difference
    };
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (equal(b'"') | equal(b'\\') | control) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_judged_alike_at_every_place() {
        for len in (0..20).chain([63, 64, 65, 129, 200]) {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    for around in [0x7F, 0xFF, b'!', b'#'] {
                        let mut text = vec![around; len];
                        text[at] = byte;
                        let expected = if is_special(byte) { at } else { len };
                        assert_eq!(plain(&text), expected, "{byte} at {at} of {len}");
                    }
                }
            }
        }
    }
}
