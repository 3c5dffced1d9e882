//! The value of the whole text: what stands before and behind it, the same value again, braces around it.

use super::failure::Failure;
use super::frame::{Kind, State};
use super::gap::gap;
use super::literal;
use super::packaging;
use super::slip::Slip;
use super::state::{NOT_KEPT, Parser, SPACE};
use crate::fixes::FixCode;

/// Finds where the value of the whole text begins.
pub(super) fn root(parser: &mut Parser<'_>) -> Result<State, Failure> {
    gap(parser)?;
    let at = parser.at;
    let rest = parser.from(at);
    let string = literal::opening(rest.as_bytes())
        .is_some_and(|opening| opening.is_ok_and(|opening| opening.form.quote != b'`'));
    if !string && !rest.starts_with(['{', '[', '(']) && rest.contains(['{', '[']) {
        let before = packaging::before(rest);
        let (len, code) = before.map_err(|(place, message)| parser.refuse(at + place, message))?;
        parser.fix(code, at);
        parser.at += len;
    }
    parser.root = Some(parser.at);
    Ok(State::Value)
}

/// Drops the second brace of `{{…}}`, whose last one must come at the end.
pub(super) fn doubled_braces(parser: &mut Parser<'_>) -> Result<bool, Failure> {
    let outermost = parser.frames.len() == 1 && parser.inside() == Some(Kind::Object);
    if !outermost || parser.byte() != Some(b'{') || parser.slipped() == Some(Slip::DoubledBraces) {
        return Ok(false);
    }
    let at = parser.at;
    parser.note_slip(Slip::DoubledBraces, at)?;
    parser.fix(FixCode::DoubledBraces, at);
    parser.at += 1;
    Ok(true)
}

/// Drops the `{}` that was opened last if it is the whole text so far and the real object follows: goes on inside
/// that one.
pub(super) fn empty_prefix(parser: &mut Parser<'_>) -> Result<bool, Failure> {
    let behind = parser.from(parser.at + 1);
    let object = behind.trim_start_matches(SPACE);
    if parser.frames.len() != 1 || parser.byte() != Some(b'}') || !object.starts_with('{') {
        return Ok(false);
    }
    parser.note_slip(Slip::Repetition, parser.at)?;
    parser.fix(FixCode::EmptyPrefix, parser.at);
    let contents = parser.frames.last().map_or(0, |frame| frame.contents);
    parser.out.truncate(contents);
    parser.root = Some(parser.text.len() - object.len());
    parser.at = parser.text.len() - object.len() + 1;
    Ok(true)
}

/// Reads what follows the value of the whole text, up to the end.
pub(super) fn end(parser: &mut Parser<'_>) -> Result<(), Failure> {
    parser.ended = true;
    if parser.slipped() == Some(Slip::DoubledBraces) {
        gap(parser)?;
        match parser.byte() {
            Some(b'}') => parser.at += 1,
            Some(_) => return Err(parser.refuse(parser.at, "two braces open the text, and one closes it")),
            None => return Err(parser.ends()),
        }
    }
    gap(parser)?;
    let at = parser.at;
    let rest = parser.from(at);
    let Some(first) = rest.chars().next() else {
        return Ok(());
    };
    let bracket = root_bracket(parser);
    parser.refuse_if(bracket.is_none(), at, "expected the end of the text")?;
    let space = parser.backwards(at).take_while(|before| before.is_whitespace());
    let space: String = space.collect();
    if bracket == Some(first) && (first == '{' || !space.is_empty()) {
        copies(parser)?;
        parser.note_slip(Slip::Repetition, at)?;
        parser.fix(FixCode::Doubled, at);
    } else {
        let behind = packaging::behind(rest, &space);
        let code = behind.map_err(|(place, message)| parser.refuse(at + place, message))?;
        parser.fix(code, at);
    }
    parser.at = parser.text.len();
    Ok(())
}

/// The bracket that the value of the whole text begins with, if it is a container, as far as that is known.
fn root_bracket(parser: &Parser<'_>) -> Option<char> {
    let text = parser.root.map_or(parser.sent, |root| Some(parser.from(root)));
    let first = text?.trim_start_matches(SPACE).chars().next();
    first.filter(|first| matches!(first, '{' | '['))
}

/// Makes sure that nothing follows but copies of the value, byte for byte.
fn copies(parser: &Parser<'_>) -> Result<(), Failure> {
    let Some(sent) = parser.sent else {
        return Err(parser.refuse(parser.at, NOT_KEPT));
    };
    let whole = [sent, parser.text].concat();
    let root = parser.root.map_or(0, |root| parser.base + root);
    let end = parser.base + parser.root_end;
    let value = whole.get(root..end).unwrap_or_default().trim_matches(SPACE);
    let mut rest = parser.from(parser.at);
    while !rest.is_empty() {
        rest = match rest.strip_prefix(value) {
            Some(behind) => behind.trim_start_matches(SPACE),
            None if value.starts_with(rest) => return Err(parser.ends()),
            None => return Err(parser.refuse(parser.at, "another value follows")),
        };
    }
    Ok(())
}
