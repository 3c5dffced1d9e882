//! Spellings of the allowed values: which texts count as the same value.

/// Whether two texts differ only in case, in outer space, or in how their words are separated: by `_`, `-`, one space
/// or a change from lower to upper case. No separator is added or removed: `gpt-4-1` is not `gpt-41`.
pub(crate) fn resemble(left: &str, right: &str) -> bool {
    let letters = |text| str::chars(str::trim(text)).flat_map(char::to_lowercase);
    letters(left).eq(letters(right)) || words(left.trim()).eq(words(right.trim()))
}

/// The letters of a text in lower case, with `_` between its words.
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
    use super::resemble;

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
}
