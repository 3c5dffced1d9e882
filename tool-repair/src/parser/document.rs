//! The value of the whole text: what stands before and after it, the same value again, braces around it.

use super::failure::Failure;
use super::frame::{Kind, State};
use super::gap::gap;
use super::literal;
use super::packaging;
use super::state::{NOT_KEPT, Parser, SPACE};
use crate::fixes::FixCode;

/// Finds where the value of the whole text begins.
pub(super) fn root(parser: &mut Parser<'_>) -> Result<State, Failure> {
    // A `#` here is a heading of Markdown, as likely as not.
    if !parser.text.trim_start().starts_with('#') {
        gap(parser)?;
    }
    let at = parser.at;
    let rest = parser.from(at);
    let string = literal::opening(rest).is_some_and(|form| form.closing != "`");
    if !string && !rest.starts_with(['{', '[', '(']) && rest.contains(['{', '[']) {
        let before = packaging::before(rest);
        let (len, code) = before.map_err(|(place, message)| parser.refuse(at + place, message))?;
        parser.fix(code, at);
        parser.at += len;
    }
    parser.root = parser.base + parser.at;
    Ok(State::Value)
}

/// Drops the second brace of `{{…}}`, whose last one must come at the end.
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

/// Drops the `{}` that was opened last if it is the whole text so far and the real object follows: goes on inside
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
    parser.at = parser.text.len() - object.len();
    parser.root = parser.base + parser.at;
    parser.at += 1;
    Ok(true)
}

/// Reads what follows the value of the whole text, up to the end.
pub(super) fn end(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let value_end = parser.base + parser.at;
    if matches!(parser.slip, Some((FixCode::DoubledBraces, _))) {
        gap(parser)?;
        let closer = parser.byte().ok_or_else(|| parser.ends())?;
        let message = "two braces open the text, and one closes it";
        parser.refuse_if(closer != b'}', parser.at, message)?;
        parser.at += 1;
    }
    gap(parser)?;
    let at = parser.at;
    let rest = parser.from(at);
    let Some(first) = rest.chars().next() else {
        return Ok(());
    };
    let mut value = parser.sent.unwrap_or_default().chars().chain(parser.out.chars());
    let bracket = value.find(|first| !SPACE.contains(first));
    let container = matches!(bracket, Some('{' | '['));
    parser.refuse_if(!container, at, "expected the end of the text")?;
    let space = parser.backwards(at).take_while(|before| before.is_whitespace());
    let space: String = space.collect();
    if bracket == Some(first) && (first == '{' || !space.is_empty()) {
        copies(parser, value_end)?;
        parser.slip(FixCode::Doubled, at)?;
    } else {
        let after = packaging::text_after(rest, &space);
        let code = after.map_err(|(place, message)| parser.refuse(at + place, message))?;
        parser.fix(code, at);
    }
    parser.at = parser.text.len();
    Ok(())
}

/// Makes sure that nothing follows but copies of the value, which ends at `end`, byte for byte.
fn copies(parser: &Parser<'_>, end: usize) -> Result<(), Failure> {
    let Some(sent) = parser.sent else {
        return Err(parser.refuse(parser.at, NOT_KEPT));
    };
    let whole = [sent, parser.text].concat();
    let value = whole
        .get(parser.root..end)
        .unwrap_or_default()
        .trim_matches(SPACE);
    let mut rest = parser.from(parser.at);
    while !rest.is_empty() {
        rest = match rest.strip_prefix(value) {
            Some(after) => after.trim_start_matches(SPACE),
            None if value.starts_with(rest) => return Err(parser.ends()),
            None => return Err(parser.refuse(parser.at, "another value follows")),
        };
    }
    Ok(())
}
