//! Parses keys: strings, names without quotes, integers.

use super::dict;
use super::evidence::Level;
use super::failure::Failure;
use super::frame::State;
use super::literal;
use super::state::{Parser, SPACE};
use super::string::string;
use crate::fixes::FixCode;

/// Parses a key, and as much of the following text as has the usual form.
pub(super) fn key(parser: &mut Parser<'_>) -> Result<State, Failure> {
    if let Some(state) = dict::members(parser) {
        return Ok(state);
    }
    let rest = parser.from(parser.at);
    match literal::opening(rest) {
        // Before prefixes: a name of one letter looks like one.
        _ if lost_opening_quote(rest) => name_key(parser)?,
        Some(form) => string(parser, form, true)?,
        None => match rest.bytes().next() {
            None => return Err(parser.ends()),
            Some(b'0'..=b'9' | b'+' | b'-' | b'.') => number_key(parser)?,
            _ => name_key(parser)?,
        },
    }
    Ok(State::Colon)
}

/// Returns whether `text` begins with a string or a name, and a colon; `None` if it ends before.
pub(super) fn follows(text: &str) -> Option<bool> {
    let end = match literal::opening(text) {
        Some(form) => literal::end(text, form)?,
        None => name(text),
    };
    let after = text.get(end..)?.trim_start_matches(SPACE);
    (!after.is_empty()).then(|| end > 0 && after.starts_with(':'))
}

/// Length of the name at the start of `text`.
fn name(text: &str) -> usize {
    let begins = |first: char| first.is_alphabetic() || matches!(first, '_' | '$');
    if !text.starts_with(begins) {
        return 0;
    }
    let part = |next: char| next.is_alphanumeric() || "_$-\u{200c}\u{200d}\u{203f}\u{2040}".contains(next);
    text.find(|next| !part(next)).unwrap_or(text.len())
}

/// Returns whether a name, a quote and a colon begin here.
fn lost_opening_quote(text: &str) -> bool {
    let after = text.get(name(text)..).unwrap_or_default();
    after.len() < text.len() && after.strip_prefix('"').is_some_and(colon_follows)
}

/// Returns whether `text` begins with a colon, after white space.
fn colon_follows(text: &str) -> bool {
    text.trim_start_matches(SPACE).starts_with(':')
}

fn name_key(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    let name = rest.get(..name(rest)).unwrap_or_default();
    parser.refuse_if(name.is_empty(), at, "expected a key")?;
    // The key `True` is `"true"` or `"True"`: that depends on the serializer.
    let message = "a literal of Python as a key, which JSON writes as a string: in one of two ways";
    parser.refuse_if(matches!(name, "True" | "False" | "None"), at, message)?;
    let opening_quote_lost = lost_opening_quote(rest);
    if opening_quote_lost {
        parser.note_slip(FixCode::UnquotedKey, at)?;
    } else {
        parser.evidence.see(Level::NotJson);
    }
    parser.fix(FixCode::UnquotedKey, at);
    parser.out.push('"');
    parser.copy(name.len());
    parser.out.push('"');
    parser.at += usize::from(opening_quote_lost);
    Ok(())
}

fn number_key(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    let number = parser.number()?;
    let message = "a key that is no integer, which JSON writes as a string: in one of several ways";
    parser.refuse_if(number.json.contains(['.', 'e', 'E']), at, message)?;
    parser.fix(FixCode::NumberKey, at);
    parser.out.push('"');
    // Python's integers have no negative zero.
    let digits = if number.json == "-0" { "0" } else { &*number.json };
    parser.out.push_str(digits);
    parser.out.push('"');
    parser.at += number.len;
    Ok(())
}
