//! Repairs one missing or redundant bracket.
//!
//! The bracket is fixed if all valid texts that differ by one bracket have the same value. No bracket is added at the
//! end, since such a text is truncated.

use super::failure::Repair;
use super::literal;
use super::machine;
use super::state::SPACE;
use crate::fixes::FixCode;
use crate::limits::Limits;
use crate::scan::{Deviation, Scanner};

/// Maximum number of tokens. The repair tries every position, in time quadratic in the number of tokens.
const MAX_TOKENS: usize = 1_000;

/// Repairs the rest of a text if exactly one bracket is missing or redundant. Returns `None` for any other text, or if
/// several repairs are possible.
pub(super) fn repair(rest: &str, sent: &str, deviation: &Deviation, limits: Limits) -> Option<Repair> {
    let text = [sent, rest].concat();
    let edit = only_edit(&tokens(&text)?)?;
    // With an unmatched closing bracket at the beginning, or after `[1]` or `{}` at the end, the text has lost its beginning.
    let is_first = edit.inserts && text.get(..edit.at)?.trim_matches(SPACE).is_empty();
    let is_last = !edit.inserts && text.get(edit.at + 1..)?.trim_matches(SPACE).is_empty();
    if is_first || is_last && !begins_with_member(&text) {
        return None;
    }
    // Bytes that were already emitted cannot change.
    let place = edit.at.checked_sub(deviation.at)?;
    let mut edited = rest.to_owned();
    let (code, kind, action) = if edit.inserts {
        edited.insert(place, edit.bracket);
        (FixCode::MissingBracket, "missing", "inserted")
    } else {
        edited.remove(place);
        (FixCode::ExtraClosers, "redundant", "removed")
    };
    let bracket_fix = Some((code, place));
    let mut repaired = machine::parse(&edited, Some(sent), deviation, limits, bracket_fix).ok()?;
    // A string that spans several lines may also lack its closing quote.
    let over_lines = |(code, _)| code == FixCode::ControlCharacter;
    if repaired.fixes.counts().any(over_lines) {
        return None;
    }
    repaired.fixes.shift(edit.at, edit.inserts);
    let message = format!("{kind} `{}` was {action}", edit.bracket);
    repaired.fixes.add_with_message(code, edit.at, message);
    Some(repaired)
}

/// Returns whether a text begins with a non-empty object.
fn begins_with_member(text: &str) -> bool {
    let contents = text.trim_start_matches(SPACE).strip_prefix('{');
    contents.is_some_and(|contents| !contents.trim_start_matches(SPACE).starts_with('}'))
}

/// A token: its kind, represented by the shortest JSON token of that kind, and its span.
struct Token<'t> {
    kind: &'t str,
    begin: usize,
    end: usize,
    /// Whether the token is a string that begins or ends with a bracket. Such a bracket and the quote may be transposed.
    beside_bracket: bool,
}

/// An edit of one bracket.
struct BracketEdit {
    at: usize,
    bracket: char,
    inserts: bool,
}

const STRING: &str = "\"\"";

/// Returns the tokens of a text that begins and ends with a bracket.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_matches(SPACE);
    if !rest.starts_with(['{', '[', '}', ']']) || !rest.ends_with(['}', ']', '{', '[']) {
        return None;
    }
    while let Some(first) = rest.chars().next() {
        let begin = text.trim_end_matches(SPACE).len() - rest.len();
        let (kind, len) = match first {
            '{' | '}' | '[' | ']' | ',' | ':' => (rest.get(..1)?, 1),
            '"' | '\'' => (STRING, literal::end(rest, literal::opening(rest)?)?),
            _ => {
                let len = rest.find(|next: char| !next.is_ascii_alphanumeric() && !"_-+.$".contains(next))?;
                ("0", Some(len).filter(|len| *len > 0)?)
            }
        };
        let (token, after) = rest.split_at_checked(len)?;
        rest = after.trim_start_matches(SPACE);
        let contents = token.trim_matches(['"', '\'']);
        let outer = contents.starts_with(['{', '[']) || contents.ends_with(['}', ']']);
        let is_key = kind == "0" && rest.starts_with(':');
        tokens.push(Token {
            kind: if is_key { STRING } else { kind },
            begin,
            end: begin + len,
            beside_bracket: kind == STRING && outer,
        });
    }
    (tokens.len() <= MAX_TOKENS).then_some(tokens)
}

/// Returns the edit that turns the tokens into JSON, if all such edits give the same value.
fn only_edit(tokens: &[Token<'_>]) -> Option<BracketEdit> {
    let kinds: String = tokens.iter().map(|token| token.kind).collect();
    let valid_prefix = length_of_json(&kinds);
    let doubtful = tokens.iter().any(|token| token.beside_bracket);
    let mut found: Option<(BracketEdit, String)> = None;
    let (mut at, mut last_end) = (0, 0);
    for token in tokens {
        // An edit after the first syntax error cannot fix the error.
        if at > valid_prefix {
            break;
        }
        let (before, after) = kinds.split_at(at);
        at += token.kind.len();
        let begin = token.begin;
        let mut edits = Vec::new();
        for (bracket, at) in [('{', begin), ('[', begin), ('}', last_end), (']', last_end)] {
            edits.push((at, bracket, true, format!("{before}{bracket}{after}")));
            if let Some(after) = after.strip_prefix(bracket) {
                edits.push((begin, bracket, false, format!("{before}{after}")));
            }
        }
        last_end = token.end;
        for (at, bracket, inserts, text) in edits {
            let text = text.replace(",}", "}").replace(",]", "]");
            if length_of_json(&text) <= text.len() {
                continue;
            }
            if found.as_ref().is_some_and(|(_, other)| *other != text) {
                return None;
            }
            // The last of several equivalent edits is used, since bytes that were already emitted cannot change.
            found = Some((BracketEdit { at, bracket, inserts }, text));
        }
    }
    let (edit, _) = found?;
    (!edit.inserts || !doubtful).then_some(edit)
}

/// Returns the length of the longest prefix that can continue as JSON. The result is greater than the length of the text
/// if the whole text is JSON.
fn length_of_json(text: &str) -> usize {
    let mut scanner = Scanner::new(Limits::default());
    match scanner.scan(text) {
        Ok(()) if scanner.finish().is_ok() => text.len() + 1,
        Ok(()) => text.len(),
        Err(deviation) => deviation.found,
    }
}
