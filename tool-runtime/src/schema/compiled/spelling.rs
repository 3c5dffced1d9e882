//! Compares spellings of allowed values.

use std::collections::HashMap;

/// Returns whether two texts differ only in case, in surrounding space, or in the separators of their words: `_`,
/// `-`, a space, or a change from lower to upper case. No separator may be added or removed: `gpt-4-1` is not
/// `gpt-41`.
pub(crate) fn resemble(left: &str, right: &str) -> bool {
    let (left, right) = (left.trim(), right.trim());
    letters(left).eq(letters(right)) || words(left).eq(words(right))
}

/// Returns whether a name or a description mentions JSON as a word: `bodyJson` and "as JSON", not `jsonb`.
pub(crate) fn mentions_json(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_word = |at: usize| {
        let first = bytes.get(at).copied().unwrap_or_default();
        let before = at.checked_sub(1).and_then(|before| bytes.get(before));
        let begins = before.is_none_or(|before| {
            !before.is_ascii_alphanumeric() || first == b'J' && !before.is_ascii_uppercase()
        });
        begins && bytes.get(at + 4).is_none_or(|after| !after.is_ascii_lowercase())
    };
    let mut windows = bytes.windows(4).enumerate();
    windows.any(|(at, window)| window.eq_ignore_ascii_case(b"json") && is_word(at))
}

/// Returns the position of the first text that equals `text` without its surrounding space, or else the position of the
/// only text that resembles it. Without such a text, the search is repeated with the text inside the quotes of `text`.
pub(crate) fn find_resembling<'t>(texts: impl Iterator<Item = &'t str> + Clone, text: &str) -> Option<usize> {
    find_spelling(texts.clone(), text).or_else(|| find_spelling(texts, unquoted(text)?))
}

fn find_spelling<'t>(texts: impl Iterator<Item = &'t str> + Clone, text: &str) -> Option<usize> {
    let trimmed = text.trim();
    texts.clone().position(|known| known == trimmed).or_else(|| {
        let mut candidates = texts.enumerate().filter(|(_, known)| resemble(known, trimmed));
        let (position, _) = candidates.next()?;
        candidates.next().is_none().then_some(position)
    })
}

/// Returns the text inside a pair of quotes.
pub(crate) fn unquoted(text: &str) -> Option<&str> {
    let text = text.trim();
    let quote = text
        .chars()
        .next()
        .filter(|first| matches!(first, '"' | '\'' | '`'))?;
    text.strip_prefix(quote)?.strip_suffix(quote)
}

/// Index of texts by their spelling, which finds a resembling text (see [`resemble`]) without comparing all texts.
#[derive(Debug, Clone, Default)]
pub(crate) struct SpellingIndex {
    by_letters: HashMap<Box<str>, Match>,
    by_words: HashMap<Box<str>, Match>,
}

/// Indexed texts with the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Match {
    /// Position of the only text.
    One(usize),
    Several,
}

impl SpellingIndex {
    /// Creates the index of distinct texts.
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut index = Self::default();
        for (position, text) in texts.enumerate() {
            let add = |forms: &mut HashMap<_, _>, form: String| {
                forms
                    .entry(form.into())
                    .and_modify(|found| *found = Match::Several)
                    .or_insert(Match::One(position));
            };
            let text = text.trim();
            add(&mut index.by_letters, letters(text).collect());
            add(&mut index.by_words, words(text).collect());
        }
        index
    }

    /// Returns the position of the only text that resembles this one.
    pub(crate) fn find(&self, text: &str) -> Option<usize> {
        let text = text.trim();
        let by_letters = self.by_letters.get(&*letters(text).collect::<String>());
        let by_words = self.by_words.get(&*words(text).collect::<String>());
        let found = match (by_letters, by_words) {
            (Some(one), Some(other)) if one != other => return None,
            (one, other) => one.or(other)?,
        };
        match found {
            Match::One(position) => Some(*position),
            Match::Several => None,
        }
    }
}

/// Returns the characters of a text in lower case.
fn letters(text: &str) -> impl Iterator<Item = char> {
    text.chars().flat_map(char::to_lowercase)
}

/// Returns the characters of a text in lower case, with `_` in place of a separator between two alphanumeric characters. `_`
/// is also inserted before an upper-case letter that follows a lower-case letter.
fn words(text: &str) -> impl Iterator<Item = char> {
    let before = std::iter::once(None).chain(text.chars().map(Some));
    let after = text.chars().map(Some).skip(1).chain(std::iter::once(None));
    before
        .zip(text.chars())
        .zip(after)
        .flat_map(|((before, letter), after)| {
            let is_word = |neighbour: Option<char>| neighbour.is_some_and(char::is_alphanumeric);
            let begins_word = letter.is_uppercase() && before.is_some_and(char::is_lowercase);
            let separates = matches!(letter, '_' | '-' | ' ') && is_word(before) && is_word(after);
            let letter = if separates { '_' } else { letter };
            begins_word
                .then_some('_')
                .into_iter()
                .chain(letter.to_lowercase())
        })
}

#[cfg(test)]
mod tests {
    use super::{SpellingIndex, mentions_json, resemble};

    #[test]
    fn spellings_of_one_value_resemble_each_other() {
        for (left, right) in [
            ("in_progress", "IN-PROGRESS"),
            ("in_progress", "in progress"),
            ("in_progress", "inProgress"),
            ("in_progress", "InProgress"),
            ("inProgress", "in-progress"),
            ("inprogress", "inProgress"),
            ("v2_beta", "v2-Beta"),
            ("two_words_more", " Two wordsMore "),
            ("-1", "-1"),
            ("größe_maß", "Größe-Maß"),
        ] {
            assert!(resemble(left, right) && resemble(right, left), "{left} {right}");
        }
        for (left, right) in [
            ("gpt-4-1", "gpt-41"),
            ("in_progress", "inprogress"),
            ("in_progress", "in  progress"),
            ("in_progress", "in__progress"),
            ("in_progress", "_in_progress"),
            ("a.b", "a_b"),
            ("1", "-1"),
            ("-1", "_1"),
            ("http_server", "HTTPServer"),
        ] {
            assert!(!resemble(left, right) && !resemble(right, left), "{left} {right}");
        }
    }

    #[test]
    fn json_is_mentioned_as_a_word() {
        for text in [
            "json",
            "JSON",
            "bodyJson",
            "body_json",
            "json-body",
            "parseJSON",
            "jsonBody",
            "as JSON.",
        ] {
            assert!(mentions_json(text), "{text}");
        }
        for text in [
            "", "jso", "jsonb", "jsonl", "JSONs", "adjson", "BSONJSON", "Jsonable",
        ] {
            assert!(!mentions_json(text), "{text}");
        }
    }

    /// The index finds the same text as a comparison with each indexed text.
    #[test]
    #[cfg_attr(miri, ignore = "takes an interpreter minutes")]
    fn index_finds_the_only_text_that_resembles() {
        let mut all = vec![String::new()];
        for length in 0..4 {
            let longer = |text: &String| ["a", "A", "_", "-", " "].map(|letter| format!("{text}{letter}"));
            let next: Vec<_> = all
                .iter()
                .filter(|text| text.len() == length)
                .flat_map(longer)
                .collect();
            all.extend(next);
        }
        let mut found = 0;
        for step in [1, 7, 13, 29, 51, 97, 190] {
            let texts: Vec<_> = all.iter().step_by(step).map(String::as_str).collect();
            let index = SpellingIndex::new(texts.iter().copied());
            for text in &all {
                let mut resembling = (0..texts.len()).filter(|position| resemble(texts[*position], text));
                let only = resembling.next().filter(|_| resembling.next().is_none());
                assert_eq!(index.find(text), only, "{text:?} among {texts:?}");
                found += usize::from(only.is_some());
            }
        }
        assert!(found > 100, "{found}");
    }
}
