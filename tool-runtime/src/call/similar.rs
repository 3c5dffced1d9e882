//! Finds names that are similar to an unknown one.

/// Returns the names that are most similar to `sent`, closest first. Equally close names keep their order. If some names
/// differ from `sent` only in case and separators, only these names are returned.
pub(crate) fn similar<'n>(sent: &str, names: impl Iterator<Item = &'n str>) -> Vec<&'n str> {
    if sent.len() > MAX_LENGTH {
        return Vec::new();
    }
    let sent = folded(sent);
    let mut ranked: Vec<(usize, &str)> = names
        .filter_map(|name| Some((rank(&sent, &folded(name))?, name)))
        .collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    if let Some((0, _)) = ranked.first() {
        ranked.retain(|(rank, _)| *rank == 0);
    }
    ranked.into_iter().take(MAX_NAMES).map(|(_, name)| name).collect()
}

/// Maximum number of names.
const MAX_NAMES: usize = 3;

/// Maximum length in bytes. A longer text is not a misspelt name, and its comparison would be slow.
const MAX_LENGTH: usize = 256;

/// Returns a name in lower case, without separators.
fn folded(name: &str) -> String {
    let kept = name.chars().filter(|character| character.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// Returns the distance of two names; `None` if they are not similar.
fn rank(sent: &str, name: &str) -> Option<usize> {
    let (sent_length, name_length) = (sent.chars().count(), name.chars().count());
    let (shorter, longer) = (sent_length.min(name_length), sent_length.max(name_length));
    let max_edits = longer.div_ceil(3).min(MAX_EDITS);
    if longer - shorter <= max_edits && shorter >= MIN_LENGTH {
        let edits = distance(sent, name);
        if edits <= max_edits {
            return Some(edits);
        }
    }
    // A name with a prefix, such as `functions.search`, is less similar than all misspelt names.
    let contained = sent.contains(name) || name.contains(sent);
    (contained && shorter > MIN_LENGTH).then_some(MAX_LENGTH + longer - shorter)
}

/// Maximum number of edits.
const MAX_EDITS: usize = 3;

/// Minimum length in characters. Almost every text is close to a shorter name, or contains it.
const MIN_LENGTH: usize = 3;

/// Returns the Levenshtein distance of two texts.
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
