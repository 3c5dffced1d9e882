//! Checks that the places in `ARCHITECTURE.md` exist. Paths begin at the root of the repository; items are `path/file.rs::item`.

use proc_macro2::{TokenStream, TokenTree};

use crate::sources::{CRATES, Module, files, read, root, shown, text};
use crate::tokens;

const DOCUMENT: &str = "ARCHITECTURE.md";
const LONGEST: usize = 140;

/// Most frequent questions of newcomers. Each question is the first cell of a row with an item.
const QUESTIONS: [&str; 16] = [
    "a number in quotes becomes an integer",
    "a panic is caught",
    "a definition is made",
    "`Option` becomes optional",
    "texts of compile errors",
    "a definition is cleaned",
    "an attribute's key is parsed",
    "a layer is applied",
    "an error becomes text for the model",
    "the SSE of an upstream is read",
    "a turn is suspended",
    "a command",
    "a setting of the gateway",
    "an upstream",
    "a session store",
    "a tool of the program `tool-gateway`",
];

#[test]
fn architecture_is_short() {
    let lines = text(DOCUMENT).lines().count();
    assert!(
        lines <= LONGEST,
        "{DOCUMENT} has {lines} lines, at most {LONGEST} are allowed; move details to the headers of the files",
    );
}

#[test]
fn places_in_the_architecture_exist() {
    let wrong: Vec<String> = text(DOCUMENT)
        .lines()
        .enumerate()
        .flat_map(|(above, line)| {
            let broken = places(line).filter_map(|place| Some((place, missing(place)?)));
            broken
                .map(|(place, reason)| format!("{DOCUMENT}:{}: `{place}`: {reason}", above + 1))
                .collect::<Vec<_>>()
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "a file or an item was moved or renamed; write where it is now:\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn architecture_answers_the_first_questions() {
    let document = text(DOCUMENT);
    let unanswered: Vec<&str> = QUESTIONS
        .into_iter()
        .filter(|question| {
            let mut rows = document
                .lines()
                .filter_map(|line| line.strip_prefix(&format!("| {question} | ")));
            !rows.any(|row| places(row).any(|place| place.contains(".rs::")))
        })
        .collect();
    assert!(
        unanswered.is_empty(),
        "{DOCUMENT} has a row `| question | `path/file.rs::item` |` for each of these questions; add or complete:\n  {}",
        unanswered.join("\n  "),
    );
}

/// Returns the places in a line: code spans that are paths, with or without an item, and targets of links.
fn places(line: &str) -> impl Iterator<Item = &str> {
    let spans = line.split('`').skip(1).step_by(2).filter(|span| {
        let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./:".contains(c);
        span.chars().all(is_path) && (span.contains('/') || span.contains(".rs"))
    });
    let links = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    spans.chain(links.filter(|link| !link.starts_with("https://") && !link.starts_with('#')))
}

/// Returns the reason why a place does not exist, if it does not.
fn missing(place: &str) -> Option<String> {
    let (path, item) = place
        .split_once("::")
        .map_or((place, None), |(path, item)| (path, Some(item)));
    let file = root().join(path);
    if !file.exists() {
        return Some("there is no such file; paths begin at the repository's root".to_owned());
    }
    let item = item?;
    let declared = declared(&tokens::product(&read(&file), &file));
    (!declared.iter().any(|name| name == item)).then(|| format!("{path} declares no `{item}`"))
}

/// Returns the names of a file's items, including items in blocks.
fn declared(tokens: &TokenStream) -> Vec<String> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut names = Vec::new();
    for pair in tokens.windows(2) {
        if let [TokenTree::Ident(keyword), TokenTree::Ident(name)] = pair
            && ["fn", "struct", "enum", "trait", "type", "const", "mod"]
                .iter()
                .any(|word| keyword == word)
        {
            names.push(name.to_string());
        }
    }
    for token in tokens {
        if let TokenTree::Group(group) = token {
            names.extend(declared(&group.stream()));
        }
    }
    names
}

#[test]
fn places_are_found_in_spans_and_links() {
    let line = "`a/b.rs::c`, `d.rs`, [`e/`](f/g.md), `h::i`, `x / y`, [k](https://l)";
    assert_eq!(
        places(line).collect::<Vec<_>>(),
        ["a/b.rs::c", "d.rs", "e/", "f/g.md"]
    );
    let this = "tests/house/architecture.rs";
    assert_eq!(missing(&format!("{this}::missing")), None);
    assert_eq!(missing(&format!("{this}::LONGEST")), None);
    assert!(missing(&format!("{this}::nowhere")).is_some());
    assert!(missing("tests/house/nowhere.rs").is_some());
}

#[test]
fn every_file_has_a_header() {
    let silent: Vec<String> = CRATES
        .iter()
        .flat_map(|name| files(&root().join(name).join("src"), "rs"))
        .filter(|file| !read(file).starts_with("//!") && !read(file).starts_with("#![doc"))
        .map(|file| shown(&file))
        .collect();
    assert!(
        silent.is_empty(),
        "each file begins with `//!` and a sentence that says why it exists; these do not:\n  {}",
        silent.join("\n  "),
    );
}

/// A file without a `mod` line is not compiled. (`tests.rs` and `tests/` have their lines after `#[cfg(test)]`, and `main.rs` is the root
/// of a program.)
#[test]
fn every_file_is_part_of_its_crate() {
    for name in CRATES {
        let mut declared = Vec::new();
        Module::of_crate(name).walk(&mut Vec::new(), &mut |_, module| {
            declared.push(module.file.clone())
        });
        let present = files(&root().join(name).join("src"), "rs");
        let stray: Vec<String> = present
            .iter()
            .filter(|file| {
                let is_test = file.ends_with("tests.rs") || shown(file).contains("/tests/");
                !declared.contains(file) && !is_test && !file.ends_with("src/main.rs")
            })
            .map(|file| shown(file))
            .collect();
        assert!(
            stray.is_empty(),
            "no `mod` line declares these; add one or remove the file:\n  {}",
            stray.join("\n  ")
        );
    }
}
