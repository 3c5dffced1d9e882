//! Parses values: strings, numbers, literals, and the beginning of containers.

use std::borrow::Cow;

use super::dict;
use super::evidence::Level;
use super::failure::Failure;
use super::frame::{Frame, Kind, State};
use super::literal;
use super::state::Parser;
use super::string::string;
use crate::fixes::FixCode;
use crate::limits::TOO_DEEP;

/// Literals of JSON and Python, and JSON's in capitals; their replacements, and the messages.
const LITERALS: [(&str, &str, &str); 9] = [
    ("true", "true", ""),
    ("false", "false", ""),
    ("null", "null", ""),
    ("True", "true", "`True` became `true`"),
    ("False", "false", "`False` became `false`"),
    ("None", "null", "`None` became `null`"),
    ("TRUE", "true", "`TRUE` became `true`"),
    ("FALSE", "false", "`FALSE` became `false`"),
    ("NULL", "null", "`NULL` became `null`"),
];

/// Parses a value, a container as far as its opening bracket.
pub(super) fn value(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let Some(first) = parser.byte() else {
        return Err(parser.ends());
    };
    match first {
        b'{' => open(parser, Kind::Object),
        b'[' => open(parser, Kind::Array),
        b'(' => open(parser, Kind::Parentheses),
        b'0'..=b'9' | b'-' | b'+' | b'.' => number(parser),
        b'\'' if dict::strings(parser) => Ok(state_after(parser)),
        _ => match literal::opening(parser.from(parser.at)) {
            Some(form) => {
                string(parser, form, false)?;
                Ok(state_after(parser))
            }
            None => word(parser),
        },
    }
}

/// State after a value.
pub(super) fn state_after(parser: &Parser<'_>) -> State {
    if parser.frames.is_empty() {
        State::Done
    } else {
        State::After
    }
}

fn open(parser: &mut Parser<'_>, kind: Kind) -> Result<State, Failure> {
    let opened = parser.at;
    parser.refuse_if(parser.frames.len() >= parser.limits.depth, opened, TOO_DEEP)?;
    if kind == Kind::Parentheses {
        parser.replace(1, "[");
    } else {
        parser.copy(1);
    }
    parser.frames.push(Frame {
        kind,
        opened,
        contents: parser.out.len(),
        comma: false,
        lacks_colon: None,
    });
    Ok(State::First)
}

fn number(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    if let Some(len) = integer(rest.as_bytes()) {
        parser.copy(len);
        return Ok(state_after(parser));
    }
    let number = parser.number()?;
    if matches!(number.json, Cow::Owned(_)) {
        parser.fix(FixCode::PythonNumber, at);
    }
    if rest.get(..number.len).is_some_and(|number| number.ends_with('.')) {
        let message = "a number that ends with a point, which may be a comma or a bracket";
        parser.needs_no_slip.get_or_insert((at, message));
    }
    parser.replace(number.len, &number.json);
    Ok(state_after(parser))
}

/// Length of the integer at the start of `text`, if it is the most usual kind of number and certainly ends.
fn integer(text: &[u8]) -> Option<usize> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = matches!(text.get(len)?, b',' | b']' | b'}' | b')' | b' ' | b'\n');
    let is_usual = len == 1 || len > 1 && text.first() != Some(&b'0');
    (ends && is_usual).then_some(len)
}

fn word(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let Some((_, json, message)) = LITERALS.iter().find(|(name, ..)| *name == word) else {
        let unfinished =
            LITERALS.iter().any(|(name, ..)| name.starts_with(word)) || matches!(word, "r" | "R" | "u" | "U");
        return Err(if end.is_none() && unfinished {
            parser.ends()
        } else if matches!(word.len(), 1..=32) {
            parser.refuse(at, format!("unknown literal `{word}`"))
        } else {
            parser.refuse(at, "expected a value")
        });
    };
    if word != *json {
        if word != word.to_ascii_uppercase() {
            parser.evidence.see(Level::Python);
        }
        parser.fix_with_message(FixCode::PythonLiteral, at, message);
    }
    parser.replace(word.len(), json);
    Ok(state_after(parser))
}
