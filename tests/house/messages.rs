//! Messages of the gateway to an HTTP client contain no Rust items, since the client's developer may not know the code.

use std::path::Path;

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use crate::sources::{files, read, root, shown};
use crate::tokens;

/// Folders with messages that an HTTP client may receive.
const FOLDERS: [&str; 5] = ["server", "turn", "wire", "session", "upstream"];

#[test]
fn messages_to_http_clients_name_no_rust_items() {
    let mut wrong = Vec::new();
    for folder in FOLDERS {
        for file in files(&root().join("tool-gateway/src").join(folder), "rs") {
            if shown(&file).contains("/tests") {
                continue;
            }
            for text in texts(&tokens::product(&read(&file), &file)) {
                if names_item(&text) {
                    wrong.push(format!("{}: {text}", shown(&file)));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "a client of the gateway's API may receive these; name the setting, the option or the API's field instead:\n  {}",
        wrong.join("\n  "),
    );
}

#[test]
fn items_are_found_in_texts_but_not_in_documentation_or_the_log() {
    let code = r#"
        //! See `Gateway::new`.
        /// See `Gateway::new`.
        fn f() {
            tracing::warn!("set `Gateway::with_secret`");
            error(format!("set `Gateway::with_any_host`"));
            error("[::1] and a: b");
        }
    "#;
    let tokens = tokens::product(code, Path::new("f.rs"));
    let wrong: Vec<_> = texts(&tokens)
        .into_iter()
        .filter(|text| names_item(text))
        .collect();
    assert_eq!(wrong, [r#""set `Gateway::with_any_host`""#]);
}

/// Returns the string literals of code, except in attributes and in the arguments of `tracing`'s macros.
fn texts(tokens: &TokenStream) -> Vec<String> {
    let mut found = Vec::new();
    let mut before: Vec<String> = Vec::new();
    for token in tokens.clone() {
        match &token {
            TokenTree::Group(group) => {
                let mark = before.iter().rev().find(|mark| *mark != "!");
                let is_attribute =
                    group.delimiter() == Delimiter::Bracket && mark.is_some_and(|mark| mark == "#");
                let start = before.len().saturating_sub(5);
                let is_log = before[start..].first().is_some_and(|first| first == "tracing")
                    && before.last().is_some_and(|last| last == "!");
                if !is_attribute && !is_log {
                    found.extend(texts(&group.stream()));
                }
            }
            TokenTree::Literal(literal) if literal.to_string().contains('"') => {
                found.push(literal.to_string());
            }
            _ => {}
        }
        before.push(token.to_string());
    }
    found
}

/// Returns whether a text contains a path of Rust, such as `Gateway::new`.
fn names_item(text: &str) -> bool {
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    text.match_indices("::")
        .any(|(at, path)| text[..at].ends_with(is_name) && text[at + path.len()..].starts_with(is_name))
}
