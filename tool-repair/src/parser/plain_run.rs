//! Finds the next byte of a string that does not stand for itself, eight bytes at a time.

const ONES: u64 = u64::from_le_bytes([1; 8]);
const HIGH_BITS: u64 = u64::from_le_bytes([0x80; 8]);
const SPACES: u64 = u64::from_le_bytes([b' '; 8]);
const DOUBLE_QUOTES: u64 = u64::from_le_bytes([b'"'; 8]);
const BACKSLASHES: u64 = u64::from_le_bytes([b'\\'; 8]);

/// How many bytes come before the next `"`, `quote`, backslash or control character, or the end.
#[inline]
pub(in super::super) fn plain(bytes: &[u8], quote: u8) -> usize {
    let quotes = ONES * u64::from(quote);
    let mut rest = bytes;
    while let Some((word, behind)) = rest.split_first_chunk::<8>() {
        let stops = stops(u64::from_le_bytes(*word), quotes);
        if stops != 0 {
            return bytes.len() - rest.len() + stops.trailing_zeros() as usize / 8;
        }
        rest = behind;
    }
    let stop = rest
        .iter()
        .position(|byte| *byte < b' ' || matches!(byte, b'"' | b'\\') || *byte == quote);
    bytes.len() - rest.len() + stop.unwrap_or(rest.len())
}

/// The high bit of each byte that is a stop. Bytes above the first stop may be wrong: a borrow runs through them.
fn stops(word: u64, quotes: u64) -> u64 {
    let below = |word: u64, least: u64| word.wrapping_sub(least) & !word;
    let equal = |bytes: u64| below(word ^ bytes, ONES);
    (below(word, SPACES) | equal(DOUBLE_QUOTES) | equal(quotes) | equal(BACKSLASHES)) & HIGH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stop_is_found_in_every_place() {
        for length in 0..20 {
            for at in 0..length {
                for byte in 0..=255_u8 {
                    for fill in *b"a\x7f " {
                        let mut bytes = vec![fill; length];
                        bytes[at] = byte;
                        let stop = byte < b' ' || matches!(byte, b'"' | b'\'' | b'\\');
                        assert_eq!(plain(&bytes, b'\''), if stop { at } else { length });
                        let stop = stop && byte != b'\'';
                        assert_eq!(plain(&bytes, b'"'), if stop { at } else { length });
                    }
                }
            }
        }
    }

    #[test]
    fn of_two_stops_the_first_is_found() {
        for second in 1..16 {
            for first in 0..second {
                for (one, other) in [
                    (b'"', b'#'),
                    (b'"', 0),
                    (0x1f, b'"'),
                    (b'\\', b']'),
                    (b'\'', b'&'),
                ] {
                    let mut bytes = [0xa0; 16];
                    (bytes[first], bytes[second]) = (one, other);
                    assert_eq!(plain(&bytes, b'\''), first);
                }
            }
        }
    }
}
