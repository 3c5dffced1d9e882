//! Reads values: strings, numbers, literals, and the beginning of containers.

use super::dict;
use super::failure::Failure;
use super::frame::{Frame, Kind, Last, State};
use super::literal;
use super::number::{self, BadNumber};
use super::state::Parser;
use super::string::string;
use crate::fixes::FixCode;
use crate::limits::TOO_DEEP;

/// The literals of JSON and Python, and those of JSON in capitals.
const LITERALS: [(&str, &str); 9] = [
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("true", "true"),
    ("false", "false"),
    ("null", "null"),
    ("TRUE", "true"),
    ("FALSE", "false"),
    ("NULL", "null"),
];

/// Reads the value that begins here, a container as far as its opening bracket.
pub(super) fn value(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let Some(first) = parser.byte() else {
        return Err(parser.ends());
    };
    match first {
        b'{' => open(parser, Kind::Object),
        b'[' => open(parser, Kind::Array),
        b'(' => open(parser, Kind::Parentheses),
        b'0'..=b'9' | b'-' | b'+' | b'.' => number(parser),
        b'\'' if dict::strings(parser) => Ok(behind(parser, Last::String)),
        _ => {
            let at = parser.at;
            let rest = parser.from(at);
            match literal::opening(rest.as_bytes()) {
                Some(Ok(opening)) => {
                    string(parser, opening, false)?;
                    Ok(behind(parser, Last::String))
                }
                Some(Err(message)) => Err(parser.refuse(at, message)),
                None => word(parser),
            }
        }
    }
}

/// What comes behind a value that ends here.
pub(super) fn behind(parser: &mut Parser<'_>, last: Last) -> State {
    if parser.frames.is_empty() {
        parser.root_end = parser.at;
        State::Done
    } else {
        State::After(last)
    }
}

fn open(parser: &mut Parser<'_>, kind: Kind) -> Result<State, Failure> {
    let opened = parser.at;
    if parser.frames.len() >= parser.limits.depth {
        return Err(parser.refuse(opened, TOO_DEEP));
    }
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
        joined: false,
    });
    Ok(State::First)
}

fn number(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    if let Some(len) = integer(rest.as_bytes()) {
        parser.copy(len);
        return Ok(behind(parser, Last::Number));
    }
    match number::read(rest) {
        Ok(number) => {
            if number.python {
                let message = "a number as Python writes it became one as JSON writes it";
                parser.fix(FixCode::PythonNumber, at, message);
            }
            if rest.get(..number.len).is_some_and(|number| number.ends_with('.')) {
                let message = "a number that ends with a point, which may be a comma or a bracket";
                parser.needs_no_slip.get_or_insert((at, message));
            }
            parser.replace(number.len, &number.json);
            Ok(behind(parser, Last::Number))
        }
        Err(BadNumber::Ends) => Err(parser.ends()),
        Err(BadNumber::Refused(message)) => Err(parser.refuse(at, message)),
    }
}

/// How long the integer is that `text` begins with, if it is the most usual kind of number and ends beyond doubt.
fn integer(text: &[u8]) -> Option<usize> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = matches!(text.get(len)?, b',' | b']' | b'}' | b')' | b' ' | b'\n');
    (ends && (len == 1 || text.first() != Some(&b'0')))
        .then_some(len)
        .filter(|len| *len > 0)
}

fn word(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let Some((_, json)) = LITERALS.iter().find(|(name, _)| *name == word) else {
        let unfinished =
            LITERALS.iter().any(|(name, _)| name.starts_with(word)) || matches!(word, "r" | "R" | "u" | "U");
        return Err(if end.is_none() && unfinished {
            parser.ends()
        } else if word.is_empty() {
            parser.refuse(at, "expected a value")
        } else if word.len() <= 32 {
            parser.refuse(at, format!("unknown literal `{word}`"))
        } else {
            parser.refuse(at, "unknown literal")
        });
    };
    if word != *json {
        parser.evidence.python |= word != word.to_ascii_uppercase();
        let message = match *json {
            "true" => "`True` became `true`",
            "false" => "`False` became `false`",
            _ => "`None` became `null`",
        };
        parser.fix(FixCode::PythonLiteral, at, message);
    }
    parser.replace(word.len(), json);
    Ok(behind(parser, Last::Other))
}
