//! Reads Rust files as tokens, so that the bodies of macros are included.

use std::path::Path;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

/// Returns the tokens of a file without its `#[cfg(test)]` items.
pub fn product(text: &str, file: &Path) -> TokenStream {
    let tokens: TokenStream = text
        .parse()
        .unwrap_or_else(|error| panic!("{} is no Rust: {error}", file.display()));
    without_tests(tokens)
}

fn without_tests(tokens: TokenStream) -> TokenStream {
    let mut rest = tokens.into_iter().peekable();
    let mut kept = Vec::new();
    while let Some(token) = rest.next() {
        if let (TokenTree::Punct(punct), Some(TokenTree::Group(attribute))) = (&token, rest.peek())
            && punct.as_char() == '#'
            && is_test(attribute)
        {
            rest.next();
            skip_item(&mut rest);
            continue;
        }
        kept.push(match token {
            TokenTree::Group(group) => {
                let mut inner = Group::new(group.delimiter(), without_tests(group.stream()));
                inner.set_span(group.span());
                TokenTree::Group(inner)
            }
            other => other,
        });
    }
    kept.into_iter().collect()
}

fn is_test(attribute: &Group) -> bool {
    attribute.delimiter() == Delimiter::Bracket
        && attribute.stream().to_string().replace(' ', "") == "cfg(test)"
}

/// Skips an item. An item ends with its block or with `;`; only a `use` has blocks before its end.
fn skip_item(rest: &mut impl Iterator<Item = TokenTree>) {
    let mut is_use = false;
    for token in rest {
        match token {
            TokenTree::Ident(word) if word == "use" => is_use = true,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_use => return,
            _ => {}
        }
    }
}

/// Returns the value of an attribute `[name = "value"]`.
pub fn value_of(attribute: &Group, name: &str) -> Option<String> {
    let mut tokens = attribute.stream().into_iter();
    match (tokens.next()?, tokens.next()?, tokens.next()?) {
        (TokenTree::Ident(key), TokenTree::Punct(_), TokenTree::Literal(value)) if key == name => {
            Some(value.to_string().trim_matches('"').to_owned())
        }
        _ => None,
    }
}

/// A path in the same crate with its original text: `crate::a::b`, `super::c`, `self::d`.
#[derive(Debug, PartialEq)]
pub struct Reference {
    pub segments: Vec<String>,
    pub line: usize,
    /// Inline modules around the path.
    pub within: Vec<String>,
}

/// Returns all paths in the same crate. Each branch of a `use` is a path.
pub fn references(tokens: &TokenStream) -> Vec<Reference> {
    let mut found = Vec::new();
    collect(tokens, &mut Vec::new(), &mut found);
    found
}

fn collect(tokens: &TokenStream, within: &mut Vec<String>, found: &mut Vec<Reference>) {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        let before = place.checked_sub(1).and_then(|before| tokens.get(before));
        match token {
            TokenTree::Ident(word) if is_start(&word.to_string(), before) && is_path(&tokens, place + 1) => {
                let reference = Reference {
                    segments: vec![word.to_string()],
                    line: word.span().start().line,
                    within: within.clone(),
                };
                place = follow(&tokens, place + 1, reference, found);
                continue;
            }
            TokenTree::Group(group) => {
                let name = inline_module(&tokens, place);
                let depth = within.len();
                within.extend(name);
                collect(&group.stream(), within, found);
                within.truncate(depth);
            }
            _ => {}
        }
        place += 1;
    }
}

/// Returns whether a word begins a path. `$crate` is the crate of the macro, not of its user; `pub(crate)` has no path after it.
fn is_start(word: &str, before: Option<&TokenTree>) -> bool {
    let macros_own = matches!(before, Some(TokenTree::Punct(punct)) if punct.as_char() == '$');
    matches!(word, "crate" | "super" | "self") && !macros_own
}

fn is_path(tokens: &[TokenTree], place: usize) -> bool {
    let colon =
        |place: usize| matches!(tokens.get(place), Some(TokenTree::Punct(punct)) if punct.as_char() == ':');
    colon(place) && colon(place + 1)
}

/// Returns the name in `mod name { … }`, if the group at `place` is the block of the module.
fn inline_module(tokens: &[TokenTree], place: usize) -> Option<String> {
    let (word, name) = (tokens.get(place.checked_sub(2)?)?, tokens.get(place - 1)?);
    match (word, name) {
        (TokenTree::Ident(word), TokenTree::Ident(name)) if word == "mod" => Some(name.to_string()),
        _ => None,
    }
}

/// Follows a path from its first `::` to its end.
fn follow(tokens: &[TokenTree], mut place: usize, mut path: Reference, found: &mut Vec<Reference>) -> usize {
    while is_path(tokens, place) {
        match tokens.get(place + 2) {
            Some(TokenTree::Ident(segment)) => path.segments.push(segment.to_string()),
            Some(TokenTree::Group(branches)) => {
                for branch in branches_of(branches) {
                    let start = Reference {
                        segments: path.segments.clone(),
                        line: branch
                            .first()
                            .map_or(path.line, |token| token.span().start().line),
                        within: path.within.clone(),
                    };
                    follow_branch(&branch, start, found);
                }
                return place + 3;
            }
            // `*`, or the `<` of generics.
            _ => break,
        }
        place += 3;
    }
    found.push(path);
    place
}

fn follow_branch(branch: &[TokenTree], mut path: Reference, found: &mut Vec<Reference>) {
    match branch.first() {
        Some(TokenTree::Ident(segment)) => {
            path.segments.push(segment.to_string());
            follow(branch, 1, path, found);
        }
        _ => found.push(path),
    }
}

fn branches_of(group: &Group) -> Vec<Vec<TokenTree>> {
    let tokens: Vec<TokenTree> = group.stream().into_iter().collect();
    tokens
        .split(|token| matches!(token, TokenTree::Punct(punct) if punct.as_char() == ','))
        .filter(|branch| !branch.is_empty())
        .map(<[TokenTree]>::to_vec)
        .collect()
}

/// A function of a file, with its name, first line and last line.
pub struct Function {
    pub name: String,
    pub first: usize,
    pub last: usize,
}

/// Returns all functions with a body, including nested functions.
pub fn functions(tokens: &TokenStream) -> Vec<Function> {
    let tokens: Vec<TokenTree> = tokens.clone().into_iter().collect();
    let mut found = Vec::new();
    let mut open: Option<(String, usize)> = None;
    for (place, token) in tokens.iter().enumerate() {
        match token {
            TokenTree::Ident(word) if word == "fn" => {
                if let Some(TokenTree::Ident(name)) = tokens.get(place + 1) {
                    open = Some((name.to_string(), word.span().start().line));
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ';' => open = None,
            TokenTree::Group(group) => {
                found.extend(functions(&group.stream()));
                if group.delimiter() == Delimiter::Brace
                    && let Some((name, first)) = open.take()
                {
                    let last = group.span_close().end().line;
                    found.push(Function { name, first, last });
                }
            }
            _ => {}
        }
    }
    found
}

#[test]
fn references_are_found_wherever_they_stand() {
    let text = r"
        use crate::a::{b, c::D, self};
        use super::e::*;
        pub(crate) fn f() { crate::g::h::<u8>(); $crate::not(); self.x(); }
        #[cfg(test)]
        mod tests { use super::{i}; use crate::j; }
        #[cfg(test)]
        use crate::{k, l};
        macro_rules! m { () => { crate::n::o } }
        mod inner { use super::p; }
    ";
    let found = references(&product(text, Path::new("test")));
    let paths: Vec<String> = found.iter().map(|it| it.segments.join("::")).collect();
    assert_eq!(
        paths,
        [
            "crate::a::b",
            "crate::a::c::D",
            "crate::a::self",
            "super::e",
            "crate::g::h",
            "crate::n::o",
            "super::p"
        ],
    );
    assert_eq!(found.last().unwrap().within, ["inner"]);
    assert_eq!(found.first().unwrap().line, 2);
}
