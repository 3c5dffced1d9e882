//! Comparison of property names with keys: exact, or regardless of case and separators.

/// Returns whether two short strings are equal. Most names have 4 to 16 bytes. The first and the last 4 or 8 bytes cover
/// such a name, and their comparison is faster than a call of `memcmp`.
#[inline]
pub(crate) fn is_same(one: &str, other: &str) -> bool {
    fn ends_match<const N: usize>(one: &[u8], other: &[u8]) -> bool {
        one.first_chunk::<N>() == other.first_chunk() && one.last_chunk::<N>() == other.last_chunk()
    }
    let (one, other) = (one.as_bytes(), other.as_bytes());
    one.len() == other.len()
        && match one.len() {
            4..8 => ends_match::<4>(one, other),
            8..=16 => ends_match::<8>(one, other),
            _ => one == other,
        }
}

/// A prefix of keys that is compared fast: the first 16 bytes, which cover most names, are compared at once.
#[derive(Debug, Clone)]
pub(crate) struct KeyPrefix {
    text: Box<[u8]>,
    head: u128,
    mask: u128,
}

impl KeyPrefix {
    pub(crate) fn new(text: &str) -> Self {
        let mut head = [0; 16];
        let mut mask = [0; 16];
        for ((head, mask), byte) in head.iter_mut().zip(&mut mask).zip(text.as_bytes()) {
            (*head, *mask) = (*byte, 0xFF);
        }
        Self {
            text: text.as_bytes().into(),
            head: u128::from_le_bytes(head),
            mask: u128::from_le_bytes(mask),
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Returns whether `text` starts with this prefix.
    #[inline]
    pub(crate) fn is_prefix_of(&self, text: &[u8]) -> bool {
        match text.first_chunk::<16>() {
            Some(first) => {
                (u128::from_le_bytes(*first) ^ self.head) & self.mask == 0
                    && (self.text.len() <= 16 || text.starts_with(&self.text))
            }
            None => text.starts_with(&self.text),
        }
    }
}

/// Returns a name in lower case without `_` and `-`. All spellings of a name have the same result.
pub(crate) fn fold(name: &str) -> Box<str> {
    let letters = name.chars().filter(|letter| !matches!(letter, '_' | '-'));
    letters.flat_map(char::to_lowercase).collect::<String>().into()
}

#[cfg(test)]
mod tests {
    use super::{KeyPrefix, is_same};

    /// Returns a string of distinct bytes.
    fn text(length: usize) -> String {
        ('!'..='~').take(length).collect()
    }

    #[test]
    fn compares_every_byte() {
        for length in 0..40 {
            let name = text(length);
            assert!(is_same(&name, &name.clone()), "{name}");
            assert!(KeyPrefix::new(&name).is_prefix_of(name.as_bytes()), "{name}");
            assert!(!is_same(&name, &text(length + 1)), "{name}");
            for place in 0..length {
                let mut other = name.clone();
                other.replace_range(place..=place, " ");
                assert!(!is_same(&name, &other), "{name} {other}");
                assert!(
                    !KeyPrefix::new(&name).is_prefix_of(other.as_bytes()),
                    "{name} {other}"
                );
            }
        }
    }
}
