//! Parses the text after a value inside a container: a comma, a closing bracket, or a token that is valid only if a
//! comma or a backslash was forgotten.

use super::evidence::Level;
use super::failure::Failure;
use super::frame::{Kind, State};
use super::gap::gap;
use super::inner_quotes;
use super::key;
use super::literal::{self, Form};
use super::state::{Parser, SPACE};
use super::string;
use super::value::state_after;
use crate::fixes::FixCode;

/// Parses the text after a value.
pub(super) fn after_value(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let (ended, written) = (parser.at, parser.out.len());
    gap(parser)?;
    let at = parser.at;
    let (Some(byte), Some(inside)) = (parser.byte(), parser.inside()) else {
        return Err(parser.ends());
    };
    if byte == b',' {
        return match inch_mark(parser, ended, inside) {
            Some(inner) => with_inner_quotes(parser, &inner),
            None => comma(parser),
        };
    }
    if byte == inside.closer() {
        return close(parser);
    }
    // A value that was passed on is followed by white space at most.
    let sent = parser.sent.unwrap_or_default();
    let value = parser.text.get(..ended).filter(|_| ended > 0).unwrap_or(sent);
    let (value, space) = value.split_at(value.trim_end_matches(SPACE).len());
    let gap = [space, parser.text.get(ended..at).unwrap_or_default()];
    let missing = match value.bytes().next_back() {
        Some(b'"' | b'\'' | b'`' | 0x80..) => return after_string(parser, gap, inside),
        _ if inside == Kind::Object => {
            gap != ["", ""] && key::follows(parser.from(at)).ok_or_else(|| parser.ends())?
        }
        _ if inside == Kind::Parentheses => false,
        // On one line they may be one number; never before a sign: `[1 -2]` may be a difference.
        Some(b'0'..=b'9') => has_line_break(gap) && byte.is_ascii_digit(),
        Some(closer @ (b'}' | b']')) => {
            matches!(byte, b'{' | b'[') && gap != ["", ""] || closer == b'}' && byte == b'{'
        }
        _ => false,
    };
    if missing {
        return missing_comma(parser, written);
    }
    Err(expected_comma(parser, inside))
}

fn expected_comma(parser: &Parser<'_>, inside: Kind) -> Failure {
    let closer = char::from(inside.closer());
    parser.refuse(parser.at, format!("expected a comma or `{closer}`"))
}

fn has_line_break(gap: [&str; 2]) -> bool {
    gap.iter().any(|space| space.contains(['\n', '\r']))
}

/// Parses the closing bracket of the innermost container.
pub(super) fn close(parser: &mut Parser<'_>) -> Result<State, Failure> {
    if let Some(at) = parser.frames.last().and_then(|object| object.lacks_colon) {
        return Err(parser.refuse(at, "expected a colon"));
    }
    // Most frames are dropped without a look at their contents; parsing all of a text in parts would take its time.
    let parentheses = parser.inside() == Some(Kind::Parentheses);
    let Some(frame) = parser.frames.pop().filter(|_| parentheses) else {
        parser.copy(1);
        return Ok(state_after(parser));
    };
    if frame.comma {
        parser.evidence.see(Level::Python);
        parser.fix(FixCode::Tuple, frame.opened);
        parser.replace(1, "]");
        return Ok(state_after(parser));
    }
    parser.fix(FixCode::Parentheses, frame.opened);
    let message = "parentheses around one value, in a text with a slip";
    parser.needs_no_slip.get_or_insert((frame.opened, message));
    let bracket = frame.contents - 1;
    parser.out.replace_range(bracket..frame.contents, " ");
    parser.at += 1;
    Ok(state_after(parser))
}

/// Positions of the quotes that are text in the string that `ended` just before a comma, if the last of them is an inch
/// mark, `5", 6"`, since no key follows.
fn inch_mark(parser: &Parser<'_>, ended: usize, inside: Kind) -> Option<Vec<usize>> {
    let is_last = inside == Kind::Object && parser.at == ended && parser.string.end + 1 == ended;
    let key = parser.from(ended + 1).trim_start_matches(SPACE);
    let may_be = is_last && inner_quotes::is_inch_mark(parser) && key::follows(key) == Some(false);
    may_be
        .then(|| inner_quotes::judge(parser).ok().flatten())
        .flatten()
}

/// Parses a comma and the text after it.
fn comma(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let (at, written) = (parser.at, parser.out.len());
    if let Some(frame) = parser.frames.last_mut() {
        frame.comma = true;
    }
    parser.copy(1);
    after_comma(parser, Some((at, written)))
}

/// Parses the text after a comma: another value, or a closing bracket, which makes the comma redundant if its positions
/// in the text and in the output are known.
pub(super) fn after_comma(parser: &mut Parser<'_>, comma: Option<(usize, usize)>) -> Result<State, Failure> {
    gap(parser)?;
    let inside = parser.inside();
    while comma.is_some() && inside == Some(Kind::Object) && parser.byte() == Some(b',') {
        // Several commas may be missing.
        parser.note_slip(FixCode::MissingComma, parser.at)?;
        parser.fix(FixCode::DoubleComma, parser.at);
        parser.at += 1;
        gap(parser)?;
    }
    match (parser.byte(), comma) {
        (None, _) => Err(parser.ends()),
        (byte, Some((at, written))) if byte == inside.map(Kind::closer) => {
            if inside != Some(Kind::Parentheses) {
                parser.fix(FixCode::TrailingComma, at);
            }
            parser.out.remove(written);
            close(parser)
        }
        _ if inside == Some(Kind::Object) => key::key(parser),
        _ => Ok(State::Value),
    }
}

/// Inserts a comma after the last value.
fn missing_comma(parser: &mut Parser<'_>, written: usize) -> Result<State, Failure> {
    let key = parser.from(parser.at).trim_start_matches(['"', '\'']);
    let comma = key.trim_start_matches(SPACE).starts_with(',');
    let message = "a missing comma, and a key that begins with one";
    parser.refuse_if(comma, parser.at, message)?;
    parser.slip(FixCode::MissingComma, parser.at)?;
    parser.out.insert(written, ',');
    Ok(State::Next)
}

/// Handles a string with an invalid successor: another string, the next key, or the rest of that string.
fn after_string(parser: &mut Parser<'_>, gap: [&str; 2], inside: Kind) -> Result<State, Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    if gap != ["", ""]
        && let Some(form) = literal::opening(rest)
    {
        let Some(end) = literal::end(rest, form) else {
            return Err(parser.ends_in_string(parser.base + at + form.prefix));
        };
        let after = parser.from(at + end).trim_start_matches(SPACE);
        let Some(next) = after.bytes().next() else {
            return Err(parser.ends());
        };
        let key = next == b':' && inside == Kind::Object;
        if key && is_key_after_value(parser, form) {
            return missing_comma(parser, parser.string.closed + 1);
        }
        // Not in a list, where a comma may be missing, and not on one line, where the quotes may be text: `'cut -d ' '
        // -f 2'`.
        let in_list = match inside {
            Kind::Array => true,
            Kind::Object => false,
            Kind::Parentheses => next == b',' || parser.frames.last().is_some_and(|frame| frame.comma),
        };
        if !key && !in_list && has_line_break(gap) {
            string::join(parser, form)?;
            return Ok(State::After);
        }
    }
    reread(parser, inside)
}

/// Returns whether the last string ends, and the key of this form begins, as strings do. Quotes and commas may be
/// transposed, `'a,' 'b': 1`, or all of it may be one string, `'x = ' '.split(':')'`.
fn is_key_after_value(parser: &Parser<'_>, form: Form) -> bool {
    let ends = |last: char| last.is_ascii_alphanumeric() || !last.is_ascii() || ")]}.!?;%/>*".contains(last);
    let ends = parser.backwards(parser.string.end).next().is_some_and(ends);
    let key = parser.from(parser.at + form.len()).chars().next();
    ends && key.is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '$' | '@' | '-'))
}

/// Parses the closing quote of the last string as text, if it can be nothing else.
fn reread(parser: &mut Parser<'_>, inside: Kind) -> Result<State, Failure> {
    let form = parser.string.form;
    if inside == Kind::Parentheses || form != Form::DOUBLE && form != Form::SINGLE {
        return Err(expected_comma(parser, inside));
    }
    match inner_quotes::judge(parser)? {
        Some(inner) => with_inner_quotes(parser, &inner),
        None => Err(ends_there(parser, inside)),
    }
}

fn with_inner_quotes(parser: &mut Parser<'_>, inner: &[usize]) -> Result<State, Failure> {
    parser.note_slip(FixCode::InnerQuote, parser.string.end)?;
    string::reread(parser, inner)?;
    Ok(State::After)
}

/// Error for a string whose closing quote is not text, and after which the text does not continue.
fn ends_there(parser: &Parser<'_>, inside: Kind) -> Failure {
    let rest = parser.from(parser.at);
    if literal::opening(rest).is_none() && !rest.starts_with(char::is_alphanumeric) {
        return expected_comma(parser, inside);
    }
    let message = "a comma is missing, or a quote in the string before is not escaped: it is ambiguous which";
    parser.refuse(parser.at, message)
}
