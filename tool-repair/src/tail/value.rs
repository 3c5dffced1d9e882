//! Reads values: strings, numbers, literals, and the beginning of containers.

use super::super::fixes::FixCode;
use super::super::limits::TOO_DEEP;
use super::draft::Draft;
use super::frame::{Frame, Kind, Last, State};
use super::literal;
use super::mended::Unmended;
use super::number::{self, BadNumber};
use super::skim;
use super::string::{pair, smart, string};

const LITERALS: [(&str, &str); 6] = [
    ("True", "true"),
    ("False", "false"),
    ("None", "null"),
    ("true", "true"),
    ("false", "false"),
    ("null", "null"),
];

/// Reads the value that begins here, a container as far as its opening bracket.
pub(super) fn value(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    let Some(first) = draft.byte() else {
        return Err(draft.ends());
    };
    match first {
        b'{' => open(draft, Kind::Object),
        b'[' => open(draft, Kind::Array),
        b'(' => open(draft, Kind::Parentheses),
        b'0'..=b'9' | b'-' | b'+' | b'.' => number(draft),
        b'\'' if skim::strings(draft) => Ok(behind(draft, Last::String)),
        _ => {
            let at = draft.at;
            let rest = draft.from(at);
            match literal::opening(rest.as_bytes()) {
                Some(Ok(opening)) => {
                    string(draft, opening, false)?;
                    Ok(behind(draft, Last::String))
                }
                Some(Err(message)) => Err(draft.refuse(at, message)),
                None => match pair(rest) {
                    Some(quotes) => {
                        smart(draft, quotes, false)?;
                        Ok(behind(draft, Last::Other))
                    }
                    None => word(draft),
                },
            }
        }
    }
}

/// What comes behind a value that ends here.
pub(super) fn behind(draft: &mut Draft<'_>, last: Last) -> State {
    if draft.frames.is_empty() {
        draft.root_end = draft.at;
        State::Done
    } else {
        State::After(last)
    }
}

fn open(draft: &mut Draft<'_>, kind: Kind) -> Result<State, Unmended> {
    let opened = draft.at;
    if draft.frames.len() >= draft.limits.depth {
        return Err(draft.refuse(opened, TOO_DEEP));
    }
    if kind == Kind::Parentheses {
        draft.replace(1, "[");
    } else {
        draft.copy(1);
    }
    draft.frames.push(Frame {
        kind,
        opened,
        contents: draft.out.len(),
        comma: false,
        joined: false,
    });
    Ok(State::First)
}

fn number(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    let at = draft.at;
    let rest = draft.from(at);
    if let Some(len) = integer(rest.as_bytes()) {
        draft.copy(len);
        return Ok(behind(draft, Last::Number));
    }
    match number::read(rest) {
        Ok(number) => {
            if number.python {
                let message = "a number as Python writes it became one as JSON writes it";
                draft.fix(FixCode::PythonNumber, at, message);
            }
            draft.replace(number.len, &number.json);
            Ok(behind(draft, Last::Number))
        }
        Err(BadNumber::Ends) => Err(draft.ends()),
        Err(BadNumber::Refused(message)) => Err(draft.refuse(at, message)),
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

fn word(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    let at = draft.at;
    let rest = draft.from(at);
    let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
    let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
    let Some((_, json)) = LITERALS.iter().find(|(name, _)| *name == word) else {
        let begins = |name: &str| name.starts_with(word);
        let unfinished =
            LITERALS.iter().any(|(name, _)| begins(name)) || matches!(word, "r" | "R" | "u" | "U");
        return Err(if end.is_none() && unfinished {
            draft.ends()
        } else if word.is_empty() {
            draft.refuse(at, "a value belongs here")
        } else if word.len() <= 32 {
            draft.refuse(
                at,
                format!("`{word}` is a value neither in JSON nor in Python's literals"),
            )
        } else {
            draft.refuse(
                at,
                "a word that is a value neither in JSON nor in Python's literals",
            )
        });
    };
    if word != *json {
        draft.evidence.python();
        let message = match *json {
            "true" => "`True` became `true`",
            "false" => "`False` became `false`",
            _ => "`None` became `null`",
        };
        draft.fix(FixCode::PythonLiteral, at, message);
    }
    draft.replace(word.len(), json);
    Ok(behind(draft, Last::Other))
}
