//! Runs the states of the parser from token to token.

use super::after_value::{after_comma, after_value, close};
use super::document;
use super::failure::{Failure, Repair};
use super::frame::{Kind, State};
use super::gap::gap;
use super::key::key;
use super::literal::Form;
use super::result;
use super::state::{NOT_KEPT, Parser, SPACE};
use super::string;
use super::value::{state_after, value};
use crate::fixes::FixCode;
use crate::limits::Limits;
use crate::scan::{Deviation, Place};

/// Parses `rest` from the state at its start to its end. `slip` is a slip that was fixed in it before.
// As a separate function the loop of states is a fifth faster than as a part of its caller.
#[inline(never)]
pub(super) fn parse(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
    slip: Option<(FixCode, usize)>,
) -> Result<Repair, Failure> {
    let mut parser = Parser::new(rest, sent, deviation, limits, slip);
    let mut state = resume(&mut parser, deviation)?;
    loop {
        state = match state {
            State::Root => document::root(&mut parser)?,
            State::First => first(&mut parser)?,
            State::Next => after_comma(&mut parser, None)?,
            State::Colon => colon(&mut parser)?,
            State::Value => {
                gap(&mut parser)?;
                value(&mut parser)?
            }
            State::After => after_value(&mut parser)?,
            State::Done => match document::end(&mut parser)? {
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

/// The state at the start of the rest.
fn resume(parser: &mut Parser<'_>, deviation: &Deviation) -> Result<State, Failure> {
    Ok(match deviation.place {
        Place::Root => State::Root,
        Place::FirstKey | Place::FirstItem => State::First,
        Place::Item => State::Next,
        Place::Colon => State::Colon,
        Place::Value => State::Value,
        Place::String { key } => {
            string::resume(parser, key, deviation.opening_quote)?;
            if key { State::Colon } else { state_after(parser) }
        }
        Place::After => State::After,
        Place::Done => State::Done,
    })
}

fn first(parser: &mut Parser<'_>) -> Result<State, Failure> {
    gap(parser)?;
    let (Some(byte), Some(inside)) = (parser.byte(), parser.inside()) else {
        return Err(parser.ends());
    };
    let closes = byte == inside.closer();
    if document::doubled_braces(parser)? || closes && document::empty_prefix(parser)? {
        return Ok(State::First);
    }
    match (parser.frames.last_mut(), inside) {
        (Some(frame), _) if closes => {
            frame.comma = true; // empty parentheses are a tuple
            close(parser)
        }
        (_, Kind::Object) => key(parser),
        _ => Ok(State::Value),
    }
}

/// Parses the colon after a key. It may be missing after a key in double quotes and white space, in an object with more
/// pairs.
fn colon(parser: &mut Parser<'_>) -> Result<State, Failure> {
    gap(parser)?;
    let (at, key) = (parser.at, parser.string);
    let byte = parser.byte().ok_or_else(|| parser.ends())?;
    if byte == b':' {
        if let Some(object) = parser.frames.last_mut() {
            object.lacks_colon = None;
        }
        parser.copy(1);
        return Ok(State::Value);
    }
    let gap = parser.text.get(key.end + 1..at).unwrap_or_default();
    let is_last = !gap.is_empty() && gap.trim_matches(SPACE).is_empty();
    // Quote and colon may be transposed: `"a:" 1`, `"a" ":b"`.
    let ends = parser.backwards(key.end).next() != Some(':') && !parser.rest().starts_with(b"\":");
    let is_key = key.key && key.form == Form::DOUBLE && is_last && ends;
    let is_value = byte.is_ascii_digit() || b"\"{[tfnTFN".contains(&byte);
    parser.refuse_if(!is_key || !is_value, at, "expected a colon")?;
    parser.slip(FixCode::MissingColon, at)?;
    parser.out.insert(key.closed + 1, ':');
    let contents = parser.contents(key.end).unwrap_or_default();
    let mut before = parser.backwards(key.end).skip(contents.chars().count() + 1);
    let is_first = before.find(|before| !SPACE.contains(before)) != Some(',');
    if let Some(object) = parser.frames.last_mut().filter(|_| is_first) {
        object.lacks_colon = Some(at);
    }
    Ok(State::Value)
}
