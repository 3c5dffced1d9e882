//! What follows a value inside a container: a comma, a closing bracket, or what only makes sense if a comma or a
//! backslash was forgotten.

use super::failure::Failure;
use super::frame::{Comma, Kind, Last, State};
use super::gap::{Gap, gap};
use super::inner_quotes::{self, Undecided};
use super::key;
use super::literal::{self, Form, Opening};
use super::slip::Slip;
use super::state::{Parser, SPACE};
use super::string;
use super::value::behind;
use crate::fixes::FixCode;

/// Reads on behind a value.
pub(super) fn after_value(parser: &mut Parser<'_>, last: Last) -> Result<State, Failure> {
    let written = parser.out.len();
    let before = if parser.at == 0 {
        passed_on(parser)
    } else {
        Gap::default()
    };
    let gap = gap(parser)?.or(before);
    let at = parser.at;
    let (Some(byte), Some(inside)) = (parser.byte(), parser.inside()) else {
        return Err(parser.ends());
    };
    if byte == b',' {
        return comma(parser);
    }
    if byte == inside.closer() {
        return Ok(close(parser));
    }
    if last == Last::String {
        return after_string(parser, gap, inside, written);
    }
    let missing = match (inside, last) {
        (Kind::Object, _) => gap.space && key::follows(parser)?,
        // On one line they may be one number; never a sign: `[1 -2]` may be a difference.
        (Kind::Array, Last::Number) => gap.newline && byte.is_ascii_digit(),
        (Kind::Array, Last::Container(closer)) => match byte {
            b'{' => gap.space || closer == b'}',
            byte => gap.space && byte == b'[',
        },
        _ => false,
    };
    if missing {
        return missing_comma(parser, written);
    }
    Err(parser.refuse(at, inside.expected_comma()))
}

/// The white space behind the last value that was passed on.
fn passed_on(parser: &Parser<'_>) -> Gap {
    let sent = parser.sent.unwrap_or_default();
    let space = sent.get(sent.trim_end_matches(SPACE).len()..).unwrap_or_default();
    Gap {
        space: !space.is_empty(),
        newline: space.contains(['\n', '\r']),
    }
}

/// Reads the closing bracket that fits.
pub(super) fn close(parser: &mut Parser<'_>) -> State {
    let Some(kind) = parser.inside() else {
        return State::Done;
    };
    // Of most frames, the rest is not wanted; reading all of what was written in parts just now would take its time.
    let frame = parser.frames.pop();
    let Some(frame) = frame.filter(|_| kind == Kind::Parentheses) else {
        parser.copy(1);
        return behind(parser, Last::Container(kind.closer()));
    };
    if frame.comma {
        parser.evidence.python = true;
        parser.fix(FixCode::Tuple, frame.opened);
        parser.replace(1, "]");
        return behind(parser, Last::Container(b')'));
    }
    parser.fix(FixCode::Parentheses, frame.opened);
    parser.needs_no_slip(
        frame.opened,
        "parentheses around one value, in a text with a slip",
    );
    let bracket = frame.contents - 1;
    parser.out.replace_range(bracket..frame.contents, " ");
    parser.at += 1;
    behind(parser, Last::Other)
}

/// Reads what follows a comma: another value, or a bracket that makes the comma too many.
pub(super) fn after_comma(parser: &mut Parser<'_>, comma: Option<Comma>) -> Result<State, Failure> {
    gap(parser)?;
    let at = parser.at;
    let (Some(byte), Some(inside)) = (parser.byte(), parser.inside()) else {
        return Err(parser.ends());
    };
    if byte == inside.closer()
        && let Some(comma) = comma
    {
        if inside != Kind::Parentheses {
            parser.fix(FixCode::TrailingComma, comma.at);
        }
        parser.out.remove(comma.written);
        return Ok(close(parser));
    }
    if inside != Kind::Object {
        return Ok(State::Value);
    }
    if byte == b',' && comma.is_some() {
        parser.note_slip(Slip::Commas, at)?;
        parser.fix(FixCode::DoubleComma, at);
        parser.at += 1;
        return Ok(State::Next { comma });
    }
    key::key(parser)
}

fn comma(parser: &mut Parser<'_>) -> Result<State, Failure> {
    let (at, written) = (parser.at, parser.out.len());
    if let Some(frame) = parser.frames.last_mut() {
        frame.comma = true;
        let list = frame.kind == Kind::Parentheses && frame.joined;
        parser.refuse_if(list, at, "adjacent strings in a tuple: a comma may be missing")?;
    }
    parser.copy(1);
    Ok(State::Next {
        comma: Some(Comma { at, written }),
    })
}

/// Writes a comma behind the last value.
fn missing_comma(parser: &mut Parser<'_>, written: usize) -> Result<State, Failure> {
    let key = parser.from(parser.at).trim_start_matches(['"', '\'']);
    let comma = key.trim_start_matches(SPACE).starts_with(',');
    parser.refuse_if(
        comma,
        parser.at,
        "a missing comma, and a key that begins with one",
    )?;
    parser.note_slip(Slip::Commas, parser.at)?;
    parser.fix(FixCode::MissingComma, parser.at);
    parser.out.insert(written, ',');
    Ok(State::Next { comma: None })
}

/// A string is followed by what cannot follow it: another string, the next key, or the rest of its own text.
fn after_string(parser: &mut Parser<'_>, gap: Gap, inside: Kind, written: usize) -> Result<State, Failure> {
    let at = parser.at;
    let rest = parser.from(at);
    if gap.space
        && let Some(Ok(opening)) = literal::opening(rest.as_bytes())
    {
        let Some(end) = literal::end(rest.as_bytes(), 0, opening) else {
            return Err(parser.ends_in_string(parser.base + at + opening.prefix));
        };
        let behind = parser.from(at + end).trim_start_matches(SPACE);
        let Some(next) = behind.bytes().next() else {
            return Err(parser.ends());
        };
        let key = next == b':' && inside == Kind::Object;
        if key && is_key_behind_value(parser, opening) {
            return missing_comma(parser, written);
        }
        // Not in a list, where a comma may be missing, and not on one line, where the quotes may be text: `'cut -d ' ' -f 2'`.
        let in_list = inside != Kind::Object && parser.frames.last().is_some_and(|frame| frame.comma);
        if !key && gap.newline && inside != Kind::Array && !in_list {
            if let Some(frame) = parser.frames.last_mut() {
                frame.joined = true;
            }
            string::join(parser, opening)?;
            return Ok(State::After(Last::String));
        }
    }
    reread(parser, inside)
}

/// Whether the last string ends, and the key with `opening` begins, as strings do: quotes and commas may have changed
/// places, `'a,' 'b': 1`, or all of it be one string, `'x = ' '.split(':')'`.
fn is_key_behind_value(parser: &Parser<'_>, opening: Opening) -> bool {
    let ends = parser.before(parser.string.end).is_some_and(|last| {
        last.is_ascii_alphanumeric() || !last.is_ascii() || b")]}.!?;%/>*".contains(&last)
    });
    let key = parser.from(parser.at + opening.len()).chars().next();
    ends && key.is_some_and(|first| first.is_alphanumeric() || matches!(first, '_' | '$' | '@' | '-'))
}

/// Takes the closing quote of the last string as text, if it can be nothing else.
fn reread(parser: &mut Parser<'_>, inside: Kind) -> Result<State, Failure> {
    let (doubt, form) = (parser.string.end, parser.string.form);
    if inside == Kind::Parentheses || parser.string.joined || form != Form::DOUBLE && form != Form::SINGLE {
        return Err(parser.refuse(parser.at, inside.expected_comma()));
    }
    let judged = match inner_quotes::judge(parser, form.quote, doubt) {
        Ok(judged) => judged,
        Err(Undecided::Ends) => return Err(parser.ends()),
        Err(Undecided::Ambiguous) => return Err(ends_there(parser, inside)),
    };
    parser.note_slip(Slip::InnerQuotes, doubt)?;
    string::reread(parser, &judged)?;
    Ok(State::After(Last::String))
}

const AMBIGUOUS_END: &str =
    "a quote inside the string is not escaped, and where the string ends is ambiguous";

/// Why the text does not go on behind a string, whose closing quote cannot be taken as text either.
fn ends_there(parser: &Parser<'_>, inside: Kind) -> Failure {
    let (at, quote) = (parser.at, parser.string.end);
    let rest = parser.from(at);
    if literal::opening(rest.as_bytes()).is_some() {
        let message = "two adjacent strings: a comma between them is missing, or a backslash before a quote";
        parser.refuse(at, message)
    } else if rest.starts_with(char::is_alphanumeric) {
        parser.refuse(quote, AMBIGUOUS_END)
    } else {
        parser.refuse(at, inside.expected_comma())
    }
}
