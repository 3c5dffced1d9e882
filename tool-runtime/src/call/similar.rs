//! Names that are similar to an unknown one: what a model may have meant.

/// Of `names`, the most similar to `sent`, the closest first; those as close keep their order. Where some differ in case
/// and separators only, these.
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

/// More names than this are no help.
const MAX_NAMES: usize = 3;

/// In bytes: whatever is longer is no misspelt name, and comparing it takes time.
const MAX_LENGTH: usize = 256;

/// Case and separators do not count.
fn folded(name: &str) -> String {
    let kept = name.chars().filter(|character| character.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// How far apart two names are; `None` when they are not similar.
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
    // With a prefix of somebody's: `functions.search`. Behind all that are misspelt.
    let contained = sent.contains(name) || name.contains(sent);
    (contained && shorter > MIN_LENGTH).then_some(MAX_LENGTH + longer - shorter)
}

/// In longer names, too.
const MAX_EDITS: usize = 3;

/// In letters: nearly everything is a few edits away from a shorter name, or has it in it.
const MIN_LENGTH: usize = 3;

/// How many letters must be added, removed or replaced (Levenshtein).
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
