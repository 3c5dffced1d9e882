//! Names for the tools of a source, whose protocol allows other names than the API.

use std::collections::{HashMap, HashSet};

use crate::wire::blake3::short_hash;
use crate::wire::definition::{InvalidName, ToolName};

/// Length of a name before its suffix, which is `_` and 8 digits.
const CUT_LENGTH: usize = ToolName::MAX_LENGTH - 9;

/// Returns the names for the tools of a source, in their order. Valid names are kept. In an invalid name, `_`
/// replaces each invalid character. A result that is too long, empty, or the name of another tool gets a suffix from the
/// hash of the original name. A name therefore depends neither on the order of the list nor on the process.
pub(crate) fn for_source(
    own_names: &[&str],
    is_taken: impl Fn(&str) -> bool,
) -> Vec<Result<ToolName, InvalidName>> {
    let exact: HashSet<&str> = own_names
        .iter()
        .copied()
        .filter(|name| ToolName::parse(name).is_ok())
        .collect();
    let mut changed: HashMap<String, HashSet<&str>> = HashMap::new();
    for name in own_names.iter().filter(|name| !exact.contains(**name)) {
        changed.entry(replaced(name)).or_default().insert(name);
    }
    let names = own_names.iter().map(|own| match ToolName::parse(own) {
        Err(_) if !own.is_empty() => {
            let name = replaced(own);
            let is_shared = changed.get(&name).is_some_and(|names| names.len() > 1);
            let name = if is_shared || exact.contains(name.as_str()) || is_taken(&name) {
                with_suffix(&name, own)
            } else {
                name
            };
            fitted(&name, own)
        }
        valid_or_empty => valid_or_empty,
    });
    names.collect()
}

/// Returns a name of valid characters, cut and with a suffix if the name is too long. `own` is the name in the source.
pub(crate) fn fitted(name: &str, own: &str) -> Result<ToolName, InvalidName> {
    if name.len() > ToolName::MAX_LENGTH {
        ToolName::parse(&with_suffix(name, own))
    } else {
        ToolName::parse(name)
    }
}

/// Replaces invalid characters.
fn replaced(own: &str) -> String {
    if own.chars().any(ToolName::allows) {
        own.chars()
            .map(|character| {
                if ToolName::allows(character) {
                    character
                } else {
                    '_'
                }
            })
            .collect()
    } else {
        format!("t_{}", short_hash(own.as_bytes()))
    }
}

fn with_suffix(name: &str, own: &str) -> String {
    let start: String = name.chars().take(CUT_LENGTH).collect();
    format!("{start}_{}", short_hash(own.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(own_names: &[&str]) -> Vec<String> {
        let names = for_source(own_names, |name| name == "taken_name");
        names.into_iter().map(|name| name.unwrap().to_string()).collect()
    }

    #[test]
    fn names_are_valid_and_independent_of_the_order() {
        let long = "x".repeat(65);
        let suffix = |own: &str| blake3::hash(own.as_bytes()).to_hex()[..8].to_owned();
        let with_suffix = |name: &str, own: &str| format!("{name}_{}", suffix(own));
        for (own_names, expected) in [
            (
                vec!["read", "files.read", "a b/ü"],
                vec!["read".to_owned(), "files_read".to_owned(), "a_b__".to_owned()],
            ),
            // An exact name wins, also at the end of the list.
            (
                vec!["a.b", "a_b"],
                vec![with_suffix("a_b", "a.b"), "a_b".to_owned()],
            ),
            (
                vec!["a.b", "a/b"],
                vec![with_suffix("a_b", "a.b"), with_suffix("a_b", "a/b")],
            ),
            (vec!["taken.name"], vec![with_suffix("taken_name", "taken.name")]),
            (vec![long.as_str()], vec![with_suffix(&"x".repeat(55), &long)]),
            (
                vec!["读取", "写"],
                vec![format!("t_{}", suffix("读取")), format!("t_{}", suffix("写"))],
            ),
            // A duplicate stays a duplicate.
            (vec!["a.b", "a.b"], vec!["a_b".to_owned(), "a_b".to_owned()]),
        ] {
            assert_eq!(names(&own_names), expected);
            let backwards: Vec<&str> = own_names.iter().rev().copied().collect();
            assert!(names(&backwards).iter().rev().eq(&expected));
            assert!(expected.iter().all(|name| name.len() <= 64));
        }
        assert!(for_source(&[""], |_| false).remove(0).is_err());
    }

    #[test]
    fn long_names_with_a_common_start_differ() {
        let own = ["a", "b"].map(|end| "x".repeat(80) + end);
        let names = names(&own.each_ref().map(String::as_str));
        assert_ne!(names[0], names[1]);
        assert!(
            names
                .iter()
                .all(|name| name.len() == 64 && name.starts_with(&"x".repeat(55)))
        );
    }
}
