//! Names relative to names, as RFC 3986 has it (5.2): no more of URIs than `$id` and `$ref` need.

/// What a reference without a fragment names, seen from `base`.
pub(super) fn resolve(base: &str, reference: &str) -> String {
    if has_scheme(reference) {
        return reference.to_owned();
    }
    let scheme = if has_scheme(base) {
        base.find(':').map_or(0, |colon| colon + 1)
    } else {
        0
    };
    let (scheme, rest) = base.split_at(scheme);
    if reference.starts_with("//") {
        return format!("{scheme}{reference}");
    }
    let host = match rest.strip_prefix("//") {
        Some(host) => 2 + host.find(['/', '?']).unwrap_or(host.len()),
        None => 0,
    };
    let (host, path) = rest.split_at(host);
    let path = path.split('?').next().unwrap_or_default();
    let path = if reference.starts_with('/') {
        without_dots(reference)
    } else if reference.is_empty() || reference.starts_with('?') {
        format!("{path}{reference}")
    } else {
        let folder = path
            .rfind('/')
            .map_or("", |slash| path.get(..=slash).unwrap_or_default());
        let root = if folder.is_empty() && !host.is_empty() {
            "/"
        } else {
            folder
        };
        without_dots(&format!("{root}{reference}"))
    };
    format!("{scheme}{host}{path}")
}

fn has_scheme(uri: &str) -> bool {
    let end = uri.find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.'));
    uri.starts_with(|c: char| c.is_ascii_alphabetic())
        && end.is_some_and(|end| uri.get(end..).is_some_and(|rest| rest.starts_with(':')))
}

/// A path whose `.` and `..` are gone.
fn without_dots(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    let is_whole = path.starts_with('/');
    for step in path.split('/').skip(usize::from(is_whole)) {
        match step {
            "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    if path.ends_with("/.") || path.ends_with("/..") {
        steps.push("");
    }
    let start = if is_whole { "/" } else { "" };
    start.to_owned() + &steps.join("/")
}

#[cfg(test)]
mod tests {
    use super::resolve;

    /// The normal examples of RFC 3986, 5.4.1, those without a fragment.
    #[test]
    fn the_examples_of_the_standard() {
        for (reference, target) in [
            ("g:h", "g:h"),
            ("g", "http://a/b/c/g"),
            ("./g", "http://a/b/c/g"),
            ("g/", "http://a/b/c/g/"),
            ("/g", "http://a/g"),
            ("//g", "http://g"),
            ("?y", "http://a/b/c/d;p?y"),
            ("g?y", "http://a/b/c/g?y"),
            (";x", "http://a/b/c/;x"),
            ("g;x", "http://a/b/c/g;x"),
            (".", "http://a/b/c/"),
            ("./", "http://a/b/c/"),
            ("..", "http://a/b/"),
            ("../", "http://a/b/"),
            ("../g", "http://a/b/g"),
            ("../..", "http://a/"),
            ("../../g", "http://a/g"),
            ("../../../g", "http://a/g"),
            ("/./g", "http://a/g"),
            ("g.", "http://a/b/c/g."),
            ("..g", "http://a/b/c/..g"),
        ] {
            assert_eq!(resolve("http://a/b/c/d;p?q", reference), target, "{reference}");
        }
    }

    #[test]
    fn bases_of_other_forms() {
        for (base, reference, target) in [
            ("", "Item", "Item"),
            ("Root", "Item", "Item"),
            ("http://a", "g", "http://a/g"),
            ("urn:uuid:1", "urn:uuid:2", "urn:uuid:2"),
            ("/a/b", "c", "/a/c"),
        ] {
            assert_eq!(resolve(base, reference), target, "{base} {reference}");
        }
    }
}
