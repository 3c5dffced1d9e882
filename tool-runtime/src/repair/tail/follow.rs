//! Follows the rest from token to token.

use super::super::limits::Limits;
use super::super::scan::{Deviation, Place};
use super::after::{after, close, next};
use super::around;
use super::draft::Draft;
use super::frame::{Kind, Last, State};
use super::gap::{self, gap};
use super::key::key;
use super::mended::{Mended, Unmended};
use super::string;
use super::value::{behind, value};

/// Follows `rest` from what was there when it began to its end.
pub(super) fn follow(
    rest: &str,
    sent: Option<&str>,
    deviation: &Deviation,
    limits: Limits,
) -> Result<Mended, Unmended> {
    let mut draft = Draft::new(rest, sent, deviation, limits);
    let mut state = resume(&mut draft, deviation)?;
    loop {
        state = match state {
            State::Root => around::root(&mut draft)?,
            State::First => first(&mut draft)?,
            State::Next { comma } => next(&mut draft, comma)?,
            State::Colon => colon(&mut draft)?,
            State::Value => {
                gap(&mut draft, gap::Next::Content)?;
                value(&mut draft)?
            }
            State::After(last) => after(&mut draft, last)?,
            State::Done => {
                around::done(&mut draft)?;
                break;
            }
        };
    }
    match draft.evidence.objection(sent, &draft.out) {
        Some((at, message)) => Err(draft.refuse(at, message)),
        None => Ok(Mended {
            text: draft.out,
            fixes: draft.fixes,
        }),
    }
}

/// Where a reader stands when the rest begins.
fn resume(draft: &mut Draft<'_>, deviation: &Deviation) -> Result<State, Unmended> {
    Ok(match deviation.place {
        Place::Root => State::Root,
        Place::FirstKey | Place::FirstItem => State::First,
        Place::Item => State::Next { comma: None },
        Place::Colon => State::Colon,
        Place::Value => State::Value,
        Place::String { key } => {
            string::resume(draft, key, deviation.opening_quote, deviation.short_escape)?;
            if key {
                State::Colon
            } else {
                behind(draft, Last::String)
            }
        }
        Place::After => State::After(last(draft)),
        Place::Done => State::Done,
    })
}

/// What kind of value was passed on last; strings never are, before something else follows.
fn last(draft: &Draft<'_>) -> Last {
    let sent = draft.sent.unwrap_or_default();
    match sent.trim_end_matches([' ', '\n', '\r', '\t']).bytes().next_back() {
        Some(b'0'..=b'9') => Last::Number,
        Some(closer @ (b'}' | b']')) => Last::Container(closer),
        _ => Last::Other,
    }
}

fn first(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    gap(draft, gap::Next::Content)?;
    let (Some(byte), Some(inside)) = (draft.byte(), draft.inside()) else {
        return Err(draft.ends());
    };
    if byte != inside.closer() {
        return if inside == Kind::Object {
            key(draft)
        } else {
            Ok(State::Value)
        };
    }
    if around::empty_prefix(draft) {
        return Ok(State::First);
    }
    if let Some(frame) = draft.frames.last_mut() {
        // Empty parentheses are a tuple.
        frame.comma = true;
    }
    Ok(close(draft))
}

fn colon(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    gap(draft, gap::Next::NoComment)?;
    match draft.byte() {
        Some(b':') => {
            draft.copy(1);
            Ok(State::Value)
        }
        Some(_) => Err(draft.refuse(draft.at, "a colon belongs behind a key")),
        None => Err(draft.ends()),
    }
}
