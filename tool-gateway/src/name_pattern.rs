//! [`matches()`]: names with wildcards.

/// Returns whether a text matches a pattern, in which `*` matches any text. Takes time that is linear in the length of the text.
pub(crate) fn matches(pattern: &str, text: &str) -> bool {
    let mut parts = pattern.split('*');
    let Some(mut rest) = parts.next().and_then(|start| text.strip_prefix(start)) else {
        return false;
    };
    let Some(end) = parts.next_back() else {
        return rest.is_empty();
    };
    // The first place of a part leaves the longest rest, so that no later place matches more.
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result by trying every length of each `*`.
    fn matches_by_trying(pattern: &str, text: &str) -> bool {
        match pattern.split_once('*') {
            None => pattern == text,
            Some((start, rest)) => text.strip_prefix(start).is_some_and(|text| {
                let ends = text.char_indices().map(|(at, _)| at).chain([text.len()]);
                let mut tails = ends.filter_map(|at| text.get(at..));
                tails.any(|tail| matches_by_trying(rest, tail))
            }),
        }
    }

    #[test]
    fn every_short_pattern_matches_as_by_trying() {
        let words = |letters: &[char], length: u32| {
            let count = letters.len().pow(length);
            let letters = letters.to_vec();
            (0..count).map(move |number| {
                let letter = |at| letters[number / letters.len().pow(at) % letters.len()];
                (0..length).map(letter).collect::<String>()
            })
        };
        for pattern in (0..=5).flat_map(|length| words(&['a', 'é', '*'], length)) {
            for text in (0..=5).flat_map(|length| words(&['a', 'é'], length)) {
                assert_eq!(
                    matches(&pattern, &text),
                    matches_by_trying(&pattern, &text),
                    "{pattern} {text}"
                );
            }
        }
    }
}
