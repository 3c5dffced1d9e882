//! Parses the value of the whole text: the text before and after it, a repetition of it, doubled braces.

use std::mem;

use super::failure::Failure;
use super::frame::{Kind, State};
use super::gap::gap;
use super::literal;
use super::packaging;
use super::state::{Copies, NOT_KEPT, Parser, SPACE};
use crate::equality::Original;
use crate::fixes::FixCode;

/// Finds the start of the value of the whole text.
pub(super) fn root(parser: &mut Parser<'_>) -> Result<State, Failure> {
    // A `#` here is a heading of Markdown, as likely as not.
    if !parser.text.trim_start().starts_with('#') {
        gap(parser)?;
    }
    let at = parser.at;
    let rest = parser.from(at);
    let string = literal::opening(rest).is_some_and(|form| form.closing != "`");
    let value = rest.starts_with(['{', '[', '(']) && !rest.starts_with(packaging::TOOL_CALLS);
    if !string && !value && rest.contains(['{', '[']) {
        let before = packaging::before(rest);
        let before = before.map_err(|(place, message)| parser.refuse(at + place, message))?;
        parser.fix(before.code, at);
        parser.at += before.len;
        parser.tool = before.tool;
    }
    Ok(State::Value)
}

/// Drops the second brace of `{{…}}`, whose last one must be at the end.
pub(super) fn doubled_braces(parser: &mut Parser<'_>) -> Result<bool, Failure> {
    let outermost = parser.frames.len() == 1 && parser.inside() == Some(Kind::Object);
    let doubled = matches!(parser.slip, Some((FixCode::DoubledBraces, _)));
    if !outermost || parser.byte() != Some(b'{') || doubled {
        return Ok(false);
    }
    parser.slip(FixCode::DoubledBraces, parser.at)?;
    parser.at += 1;
    Ok(true)
}

/// Drops an empty `{}` that is the whole text so far, if an object with members follows: the parser continues inside
/// that one.
pub(super) fn empty_prefix(parser: &mut Parser<'_>) -> Result<bool, Failure> {
    let after = parser.from(parser.at + 1);
    let object = after.trim_start_matches(SPACE);
    if parser.frames.len() != 1 || parser.byte() != Some(b'}') || !object.starts_with('{') {
        return Ok(false);
    }
    parser.slip(FixCode::EmptyPrefix, parser.at)?;
    let contents = parser.frames.last().map_or(0, |frame| frame.contents);
    parser.out.truncate(contents);
    parser.at = parser.text.len() - object.len() + 1;
    Ok(true)
}

/// Parses the text after the value of the whole text, up to the end or to a value that must be a copy.
pub(super) fn end(parser: &mut Parser<'_>) -> Result<Option<State>, Failure> {
    if let Some(copies) = &mut parser.copies {
        let copy = parser.out.split_off(copies.written);
        let (equal, at) = (copies.original.equals(&copy, parser.limits.sent), copies.at);
        parser.refuse_if(!equal, at, "another value follows")?;
    } else if matches!(parser.slip, Some((FixCode::DoubledBraces, _))) {
        gap(parser)?;
        let closer = parser.byte().ok_or_else(|| parser.ends())?;
        let message = "two braces open the text, and one closes it";
        parser.refuse_if(closer != b'}', parser.at, message)?;
        parser.at += 1;
    }
    gap(parser)?;
    let (at, rest) = (parser.at, parser.from(parser.at));
    let first = rest.chars().next();
    let sent = parser.sent.unwrap_or_default();
    let bracket = match &parser.copies {
        Some(copies) => copies.original.first(),
        None => [sent, &parser.out]
            .iter()
            .find_map(|text| text.trim_start_matches(SPACE).chars().next()),
    };
    let scalar = first.is_some() && !matches!(bracket, Some('{' | '['));
    parser.refuse_if(scalar, at, "expected the end of the text")?;
    let space = parser.backwards(at).take_while(|before| before.is_whitespace());
    let space: String = space.collect();
    if first.is_some() && first == bracket && (first == Some('{') || !space.is_empty()) {
        parser.refuse_if(parser.sent.is_none(), at, NOT_KEPT)?;
        if parser.copies.is_none() {
            parser.slip(FixCode::Doubled, at)?;
        }
        let written = parser.out.len();
        let copies = parser.copies.get_or_insert_with(|| Copies {
            original: Original::new(&[sent, &parser.out].concat()),
            fixes: mem::take(&mut parser.fixes),
            at,
            written,
        });
        (copies.at, copies.written) = (at, written);
        return Ok(Some(State::Value));
    }
    if let Some(copies) = parser.copies.take() {
        parser.fixes = copies.fixes;
    }
    if first.is_some() {
        let after = packaging::text_after(rest, &space);
        let code = after.map_err(|(place, message)| parser.refuse(at + place, message))?;
        parser.fix(code, at);
    }
    Ok(None)
}
