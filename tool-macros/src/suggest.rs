//! Suggestions for unknown keys: the closest key, or an alternative.

/// Keys of other crates, each with the equivalent key here.
pub(crate) const SYNONYMS: &[(&str, &str)] = &[
    ("desc", "description"),
    ("doc", "description"),
    ("docs", "description"),
    ("enum", "values"),
    ("one_of", "values"),
    ("max", "range"),
    ("min", "range"),
    ("minimum", "range"),
    ("maximum", "range"),
    ("max_length", "length"),
    ("min_length", "length"),
    ("max_items", "length"),
    ("min_items", "length"),
    ("len", "length"),
    ("regex", "pattern"),
    ("rename", "name"),
    ("readonly", "read_only"),
    ("non_blank", "not_blank"),
    ("not_empty", "not_blank"),
    ("examples", "input_examples"),
    ("examples", "example"),
    ("error", "errors"),
    ("krate", "crate"),
    ("path", "crate"),
    ("runtime", "crate"),
    ("is_read_only", "read_only"),
    ("readonly_hint", "read_only"),
    ("read_only_hint", "read_only"),
    ("destructive_hint", "destructive"),
    ("idempotent_hint", "idempotent"),
    ("open_world_hint", "open_world"),
    ("default_value", "default"),
    ("default_value_t", "default"),
    ("default_values", "default"),
    ("default_values_t", "default"),
    ("default_t", "default"),
    ("help", "description"),
    ("long_help", "description"),
    ("about", "description"),
    ("possible_values", "values"),
    ("choices", "values"),
    ("options", "values"),
    ("allowed", "values"),
    ("dangerous", "destructive"),
    ("sync", "blocking"),
    ("spawn_blocking", "blocking"),
];

/// Unknown keys with an alternative that is not a key: the attribute, the keys, and the alternative.
const ALTERNATIVES: &[(&str, &[&str], &str)] = &[
    (
        "arg",
        &["optional", "required", "nullable"],
        "a parameter is optional if its type is `Option<T>` or it has a `default = ..`",
    ),
    (
        "arg",
        &["type", "ty", "format", "schema"],
        "the type of the parameter determines that",
    ),
    (
        "arg",
        &["skip", "hidden", "hide", "state", "inject", "context"],
        "values that the host supplies have the type `State<T>`, `SessionState<T>`, `Extension<T>`, `Progress` or `Context`",
    ),
    (
        "tool",
        &["args", "params", "param", "parameters", "arguments"],
        "describe each parameter above it, with `/// ..` or `#[arg(description = \"..\")]`",
    ),
    (
        "tool",
        &["schema", "input_schema", "parameters_schema"],
        "the schema is generated from the types of the parameters",
    ),
];

/// Returns the alternative for an unknown key.
pub(crate) fn alternative(written: &str, of: &str) -> Option<&'static str> {
    ALTERNATIVES
        .iter()
        .find(|(attribute, keys, _)| *attribute == of && keys.contains(&written))
        .map(|(.., advice)| *advice)
}

/// Returns the known key that is most similar.
pub(crate) fn closest<'a>(written: &str, known: &[&'a str]) -> Option<&'a str> {
    let synonym = SYNONYMS
        .iter()
        .filter(|(from, _)| from.eq_ignore_ascii_case(written))
        .find_map(|(_, to)| known.iter().find(|word| *word == to));
    if let Some(word) = synonym {
        return Some(word);
    }
    // A prefix counts, since the key may be incomplete.
    let is_prefix = |word: &&&str| written.len() >= 3 && word.starts_with(written);
    if let Some(word) = known.iter().find(is_prefix) {
        return Some(word);
    }
    let (distance, word) = known
        .iter()
        .map(|word| (distance(&written.to_lowercase(), &word.to_lowercase()), *word))
        .min_by_key(|(distance, _)| *distance)?;
    (distance <= word.len() / 3).then_some(word)
}

/// Returns the edit distance: insertions, deletions and replacements.
fn distance(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (deleted, a) in from.chars().enumerate() {
        let mut diagonal = deleted;
        let mut left = deleted + 1;
        for (cell, b) in row.iter_mut().skip(1).zip(&to) {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = *cell;
            left = replaced.min(*cell + 1).min(left + 1);
            *cell = left;
        }
        if let Some(first) = row.first_mut() {
            *first = deleted + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn measures_edit_distance() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        assert_eq!(distance("abc", ""), 3);
        assert_eq!(distance("abc", "abc"), 0);
    }

    #[test]
    fn finds_the_closest_key() {
        let known = ["name", "description", "read_only", "rename_all"];
        assert_eq!(closest("descripton", &known), Some("description"));
        assert_eq!(closest("readOnly", &known), Some("read_only"));
        assert_eq!(closest("desc", &known), Some("description"));
        assert_eq!(closest("Name", &known), Some("name"));
        assert_eq!(closest("descr", &known), Some("description"));
        assert_eq!(closest("de", &known), None);
        assert_eq!(closest("zebra", &known), None);
    }
}
