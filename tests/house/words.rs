//! File names and identifiers use standard terms. Words of this project's former private vocabulary are rejected.

use std::collections::BTreeSet;
use std::path::Path;

use proc_macro2::{TokenStream, TokenTree};

use crate::sources::{CRATES, files, read, root, shown};

/// Banned words, with the words to write instead.
const BANNED: [(&str, &str); 53] = [
    ("absent", "`missing`"),
    ("alike", "what the test shows"),
    ("anybody", "who: `host`, `model`, `user`"),
    ("around", "`context`, `surroundings` or `layers`"),
    ("behind", "`after`, `inner` or `target`"),
    ("bend", "`coerce`"),
    ("bends", "`coerces`"),
    ("bent", "`coerced`"),
    ("bury", "what the test shows"),
    ("canceller", "`token`"),
    ("dawdle", "`block`"),
    ("dismantle", "`drop`, with what makes it special"),
    ("facet", "`constraint`"),
    ("facets", "`constraints`"),
    ("fate", "`treatment`, or what is decided"),
    ("feed", "`deserialize`, or `push` for pieces of a stream"),
    ("gather", "`collect` or `merge`"),
    ("hear", "`log`, `event` or `receive`"),
    ("heard", "`logged`, `events` or `received`"),
    ("hindsight", "`outcome`"),
    ("hollow", "`empty`"),
    ("meet", "`overlap` or `satisfy`"),
    ("mend", "`repair`"),
    ("mended", "`repaired`"),
    ("nobody", "what is missing: `unsupported`, `unknown`"),
    ("noise", "`redundant`"),
    ("nought", "`zero`"),
    ("overheard", "`logged`"),
    ("rigor", "`mode`"),
    ("ruling", "`coercion`"),
    ("say", "`write`, `push` or `describe`"),
    ("says", "`contains`, `has` or `describes`"),
    ("settle", "`finalize`"),
    ("settled", "`finalized`"),
    ("sketch", "`schema_hint`"),
    ("somebody", "who: `host`, `model`, `user`"),
    ("soup", "what the test shows"),
    ("speaks", "`mentions`"),
    ("spell", "`format` or `expand`"),
    ("spelled", "`formatted` or `expanded`"),
    ("supplied", "`source`, or whose it is: `from_host`"),
    ("tell", "`report`, `write` or `log`"),
    ("told", "`reported`, `described` or `logged`"),
    ("twice", "`duplicate`"),
    ("unanswered", "`no_answer`"),
    ("unheard", "`not_logged`"),
    ("unsaid", "`unspecified`"),
    ("unwatched", "why: `no_timer`"),
    ("way", "`path` or `route`"),
    ("ways", "`paths`"),
    ("weigh", "`score`"),
    ("whoever", "who: `host`, `model`, `user`"),
    ("wording", "`messages`"),
];

/// Splits a file name or an identifier into words in lower case: `UnknownName`, `unknown_name` and `unknown-name` have two words.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for character in name.chars() {
        let starts_word = character.is_uppercase() && was_lower;
        was_lower = character.is_lowercase() || character.is_ascii_digit();
        if !character.is_alphanumeric() || starts_word {
            words.push(String::new());
        }
        if let (true, Some(word)) = (character.is_alphanumeric(), words.last_mut()) {
            word.extend(character.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Collects the identifiers of a file with their first lines, including tests and the bodies of macros.
fn identifiers(tokens: TokenStream, found: &mut Vec<(String, usize)>) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found.push((ident.to_string(), ident.span().start().line)),
            TokenTree::Group(group) => identifiers(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

/// Returns the complaints about a name, one for each banned word.
fn complaints(name: &str) -> impl Iterator<Item = String> {
    let words = words(name);
    BANNED
        .into_iter()
        .filter(move |(banned, _)| words.iter().any(|word| word == banned))
        .map(|(banned, instead)| format!("`{banned}`: say {instead}"))
}

fn in_file(file: &Path) -> BTreeSet<String> {
    let path = shown(file);
    let mut found = BTreeSet::new();
    for part in path.trim_end_matches(".rs").split('/') {
        found.extend(
            complaints(part).map(|complaint| format!("{path}: the name of the file has {complaint}")),
        );
    }
    let tokens = read(file)
        .parse()
        .unwrap_or_else(|error| panic!("{path}: {error}"));
    let mut names = Vec::new();
    identifiers(tokens, &mut names);
    let mut seen = BTreeSet::new();
    for (name, line) in names {
        if seen.insert(name.clone()) {
            found.extend(
                complaints(&name).map(|complaint| format!("{path}:{line}: `{name}` has {complaint}")),
            );
        }
    }
    found
}

#[test]
fn names_have_no_banned_words() {
    let sources = CRATES
        .iter()
        .flat_map(|name| files(&root().join(name).join("src"), "rs"));
    let wrong: Vec<String> = sources.flat_map(|file| in_file(&file)).collect();
    assert!(
        wrong.is_empty(),
        "names use the nouns of JSON Schema, serde, tower and tokio, so that they can be searched for (see \
         CONTRIBUTING.md, \"Names that can be found\"):\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn splits_names_into_words() {
    assert_eq!(words("UnknownName"), ["unknown", "name"]);
    assert_eq!(words("_unknown_name2"), ["unknown", "name2"]);
    assert_eq!(words("tool-runtime"), ["tool", "runtime"]);
    assert_eq!(words("MAX_DEPTH"), ["max", "depth"]);
    assert_eq!(complaints("is_told").count(), 1);
    assert_eq!(complaints("untold").count(), 0);
}
