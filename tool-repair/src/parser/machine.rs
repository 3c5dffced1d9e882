//! Runs the states of the parser for each token.

use super::failure::{Failure, Repair};
use super::frame::{Kind, State};
use super::literal::Form;
use super::result;
use super::state::{NOT_KEPT, Parser, SPACE};
use crate::fixes::FixCode;
use crate::limits::Limits;
use crate::scan::{Deviation, Place};

/// Parses `rest` from its initial state to its end. `slip` is a slip in `rest` that was already fixed.
// The loop of states is a fifth faster as a separate function than inlined into its caller.
#[inline(never)]
pub(super) fn parse(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
    slip: Option<(FixCode, usize)>,
) -> Result<Repair, Failure> {
    let mut parser = Parser::new(rest, sent, deviation, limits, slip);
    let mut state = parser.initial_state(deviation)?;
    loop {
        state = match state {
            State::Root => parser.parse_root()?,
            State::First => parser.parse_first()?,
            State::Next => parser.after_comma(None)?,
            State::Colon => parser.parse_colon()?,
            State::Value => {
                parser.parse_gap()?;
                parser.parse_value()?
            }
            State::After => parser.after_value()?,
            State::Done => match parser.parse_end()? {
                Some(copy) => copy,
                None => break,
            },
        };
    }
    let contradiction = parser.slip.and_then(|(slip, at)| match sent {
        Some(sent) => Some((at, result::contradiction(&[sent, &parser.out].concat(), slip)?)),
        None => Some((at, NOT_KEPT)),
    });
    let needs_no_slip = parser.needs_no_slip.filter(|_| parser.slip.is_some());
    match contradiction.or(parser.evidence.objection()).or(needs_no_slip) {
        Some((at, message)) => Err(parser.refuse(at, message)),
        None => Ok(Repair {
            text: parser.out,
            fixes: parser.fixes,
            tool: parser.tool.map(str::to_owned),
        }),
    }
}

impl Parser<'_> {
    /// Returns the state at the start of the rest.
    fn initial_state(&mut self, deviation: &Deviation) -> Result<State, Failure> {
        Ok(match deviation.place {
            Place::Root => State::Root,
            Place::FirstKey | Place::FirstItem => State::First,
            Place::Item => State::Next,
            Place::Colon => State::Colon,
            Place::Value => State::Value,
            Place::String { key } => {
                self.resume_string(key, deviation.opening_quote)?;
                if key { State::Colon } else { self.state_after() }
            }
            Place::After => State::After,
            Place::Done => State::Done,
        })
    }

    fn parse_first(&mut self) -> Result<State, Failure> {
        self.parse_gap()?;
        let (Some(byte), Some(inside)) = (self.byte(), self.inside()) else {
            return Err(self.ends());
        };
        let closes = byte == inside.closer();
        if self.doubled_braces()? || closes && self.empty_prefix()? {
            return Ok(State::First);
        }
        match (self.frames.last_mut(), inside) {
            (Some(frame), _) if closes => {
                frame.comma = true; // empty parentheses are a tuple
                self.close_container()
            }
            (_, Kind::Object) => self.parse_key(),
            _ => Ok(State::Value),
        }
    }

    /// Parses the colon after a key. A missing colon is inserted after a key in double quotes and white space, if the
    /// object has more pairs.
    fn parse_colon(&mut self) -> Result<State, Failure> {
        self.parse_gap()?;
        let (at, key) = (self.at, self.string);
        let byte = self.byte().ok_or_else(|| self.ends())?;
        if byte == b':' {
            if let Some(object) = self.frames.last_mut() {
                object.lacks_colon = None;
            }
            self.copy(1);
            return Ok(State::Value);
        }
        let gap = self.text.get(key.end + 1..at).unwrap_or_default();
        let is_last = !gap.is_empty() && gap.trim_matches(SPACE).is_empty();
        // A quote and a colon may be transposed: `"a:" 1`, `"a" ":b"`.
        let ends = self.backwards(key.end).next() != Some(':') && !self.rest().starts_with(b"\":");
        let is_key = key.key && key.form == Form::DOUBLE && is_last && ends;
        let is_value = byte.is_ascii_digit() || b"\"{[tfnTFN".contains(&byte);
        self.refuse_if(!is_key || !is_value, at, "expected a colon")?;
        self.slip(FixCode::MissingColon, at)?;
        self.out.insert(key.closed + 1, ':');
        let contents = self.contents(key.end).unwrap_or_default();
        let mut before = self.backwards(key.end).skip(contents.chars().count() + 1);
        let is_first = before.find(|before| !SPACE.contains(before)) != Some(',');
        if let Some(object) = self.frames.last_mut().filter(|_| is_first) {
            object.lacks_colon = Some(at);
        }
        Ok(State::Value)
    }
}
