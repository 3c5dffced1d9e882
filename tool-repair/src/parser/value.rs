//! Parses values: strings, numbers, literals, and the beginning of containers.

use std::borrow::Cow;

use super::evidence::Level;
use super::failure::Failure;
use super::frame::{Kind, OpenContainer, State};
use super::literal;
use super::state::Parser;
use crate::fixes::FixCode;
use crate::limits::TOO_DEEP;

/// Literals of JSON and Python, and JSON's in capitals, with replacements and messages.
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

impl Parser<'_> {
    /// Parses a value, or the opening bracket of a container.
    pub(super) fn parse_value(&mut self) -> Result<State, Failure> {
        let Some(first) = self.byte() else {
            return Err(self.ends());
        };
        match first {
            b'{' => self.open_container(Kind::Object),
            b'[' => self.open_container(Kind::Array),
            b'(' => self.open_container(Kind::Parentheses),
            b'0'..=b'9' | b'-' | b'+' | b'.' => self.parse_number(),
            b'\'' if self.plain_strings() => Ok(self.state_after()),
            _ => match literal::opening(self.from(self.at)) {
                Some(form) => {
                    self.parse_string(form, false)?;
                    Ok(self.state_after())
                }
                None => self.parse_word(),
            },
        }
    }

    /// Returns the state after a value.
    pub(super) fn state_after(&self) -> State {
        if self.frames.is_empty() {
            State::Done
        } else {
            State::After
        }
    }

    fn open_container(&mut self, kind: Kind) -> Result<State, Failure> {
        let opened = self.at;
        self.refuse_if(self.frames.len() >= self.limits.depth, opened, TOO_DEEP)?;
        if kind == Kind::Parentheses {
            self.replace(1, "[");
        } else {
            self.copy(1);
        }
        self.frames.push(OpenContainer {
            kind,
            opened,
            contents: self.out.len(),
            comma: false,
            lacks_colon: None,
        });
        Ok(State::First)
    }

    fn parse_number(&mut self) -> Result<State, Failure> {
        let (at, rest) = (self.at, self.from(self.at));
        if let Some(len) = integer(rest.as_bytes()) {
            self.copy(len);
            return Ok(self.state_after());
        }
        let number = self.number()?;
        if matches!(number.json, Cow::Owned(_)) {
            self.fix(FixCode::PythonNumber, at);
        }
        if rest.get(..number.len).is_some_and(|number| number.ends_with('.')) {
            let message = "a number that ends with a point, which may be a comma or a bracket";
            self.needs_no_slip.get_or_insert((at, message));
        }
        self.replace(number.len, &number.json);
        Ok(self.state_after())
    }

    fn parse_word(&mut self) -> Result<State, Failure> {
        let (at, rest) = (self.at, self.from(self.at));
        let end = rest.find(|next: char| !next.is_alphanumeric() && next != '_');
        let word = rest.get(..end.unwrap_or(rest.len())).unwrap_or_default();
        let Some((_, json, message)) = LITERALS.iter().find(|(name, ..)| *name == word) else {
            let unfinished = LITERALS.iter().any(|(name, ..)| name.starts_with(word))
                || matches!(word, "r" | "R" | "u" | "U");
            return Err(if end.is_none() && unfinished {
                self.ends()
            } else if matches!(word.len(), 1..=32) {
                self.refuse(at, format!("unknown literal `{word}`"))
            } else {
                self.refuse(at, "expected a value")
            });
        };
        if word != *json {
            if word != word.to_ascii_uppercase() {
                self.evidence.record(Level::Python);
            }
            self.fix_with_message(FixCode::PythonLiteral, at, message);
        }
        self.replace(word.len(), json);
        Ok(self.state_after())
    }
}

/// Returns the length of the integer at the start of `text`, if its end is certain; the most common kind of number.
fn integer(text: &[u8]) -> Option<usize> {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let ends = matches!(text.get(len)?, b',' | b']' | b'}' | b')' | b' ' | b'\n');
    let is_usual = len == 1 || len > 1 && text.first() != Some(&b'0');
    (ends && is_usual).then_some(len)
}
