//! Reads keys: strings, names without quotes, integers.

use super::super::fixes::FixCode;
use super::draft::Draft;
use super::frame::State;
use super::literal;
use super::mended::Unmended;
use super::number::{self, BadNumber};
use super::skim;
use super::string::{pair, smart, string};

/// Words that are no keys: whether `True` is `"true"` or `"True"` depends on who writes it.
const LITERALS: [&str; 11] = [
    "True",
    "False",
    "None",
    "true",
    "false",
    "null",
    "undefined",
    "NaN",
    "nan",
    "Infinity",
    "inf",
];

/// Reads the key that begins here, and what follows as far as that is of the usual form.
pub(super) fn key(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    if let Some(state) = skim::members(draft) {
        return Ok(state);
    }
    let at = draft.at;
    let rest = draft.from(at);
    match literal::opening(rest.as_bytes()) {
        Some(Ok(opening)) => {
            string(draft, opening, true)?;
            return Ok(State::Colon);
        }
        Some(Err(message)) => return Err(draft.refuse(at, message)),
        None => {}
    }
    if let Some(quotes) = pair(rest) {
        smart(draft, quotes, true)?;
        return Ok(State::Colon);
    }
    match rest.bytes().next() {
        None => Err(draft.ends()),
        Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number_key(draft),
        _ => name_key(draft),
    }
}

/// Whether a key begins here, and a colon follows it.
pub(super) fn follows(draft: &Draft<'_>) -> Result<bool, Unmended> {
    let rest = draft.from(draft.at);
    let len = match literal::opening(rest.as_bytes()) {
        Some(Ok(opening)) => literal::end(rest.as_bytes(), 0, opening)
            .ok_or_else(|| draft.ends_in_string(draft.base + draft.at + opening.prefix))?,
        Some(Err(_)) => 0,
        None => name(rest),
    };
    let behind = rest.get(len..).unwrap_or_default();
    if len > 0 && behind.trim_start_matches([' ', '\n', '\r', '\t']).is_empty() {
        return Err(draft.ends());
    }
    Ok(len > 0 && colon_follows(behind))
}

/// How long the name is that `text` begins with.
fn name(text: &str) -> usize {
    let mut characters = text.chars();
    let begins = |first: char| first.is_alphabetic() || matches!(first, '_' | '$');
    if !characters.next().is_some_and(begins) {
        return 0;
    }
    let end = text.find(|next: char| !next.is_alphanumeric() && !matches!(next, '_' | '$' | '-'));
    end.unwrap_or(text.len())
}

/// Whether `text` goes on with a colon.
fn colon_follows(text: &str) -> bool {
    text.trim_start_matches([' ', '\n', '\r', '\t']).starts_with(':')
}

fn name_key(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    let at = draft.at;
    let rest = draft.from(at);
    let (name, behind) = rest.split_at(name(rest));
    if name.is_empty() {
        return Err(draft.refuse(at, "a key belongs here"));
    }
    if behind.trim_start_matches([' ', '\n', '\r', '\t']).is_empty() {
        return Err(draft.ends());
    }
    if LITERALS.contains(&name) {
        let message = format!("`{name}` as a key: JSON has only strings there, and which is not certain");
        return Err(draft.refuse(at, message));
    }
    if name.ends_with('-') {
        return Err(draft.refuse(at, "a key without quotes that ends in what may have been one"));
    }
    if !colon_follows(behind) {
        return Err(draft.refuse(at, "a key belongs here, and a colon behind it"));
    }
    draft.fix(FixCode::UnquotedKey, at, "a key without quotes got them");
    draft.out.push('"');
    draft.copy(name.len());
    draft.out.push('"');
    Ok(State::Colon)
}

fn number_key(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    let at = draft.at;
    let number = match number::read(draft.from(at)) {
        Ok(number) => number,
        Err(BadNumber::Ends) => return Err(draft.ends()),
        Err(BadNumber::Refused(message)) => return Err(draft.refuse(at, message)),
    };
    if draft.byte() == Some(b'+') {
        return Err(draft.refuse(
            at,
            "a key with a plus sign: whether it belongs to the key is not certain",
        ));
    }
    if number.json.contains(['.', 'e', 'E']) {
        let message = "a key that is no integer: how it is written as a string is not certain";
        return Err(draft.refuse(at, message));
    }
    draft.fix(FixCode::NumberKey, at, "a key that is a number became a string");
    draft.out.push('"');
    // Python's integers have no negative zero.
    let digits = if number.json == "-0" { "0" } else { &*number.json };
    draft.out.push_str(digits);
    draft.out.push('"');
    draft.at += number.len;
    Ok(State::Colon)
}
