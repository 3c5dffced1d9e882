//! [`matches()`]: names with wildcards.

/// Returns whether a name matches a pattern, in which `*` matches any text.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == name,
        Some((start, rest)) => name.strip_prefix(start).is_some_and(|name| {
            let ends = name.char_indices().map(|(at, _)| at).chain([name.len()]);
            let mut tails = ends.filter_map(|at| name.get(at..));
            tails.any(|tail| matches(rest, tail))
        }),
    }
}
