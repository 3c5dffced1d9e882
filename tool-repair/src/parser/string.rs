//! Reads strings and writes them as JSON.

use super::escape;
use super::evidence::Level;
use super::failure::Failure;
use super::literal::{self, Form, Literal, Opening};
use super::plain_run::plain;
use super::slip::Slip;
use super::state::Parser;
use crate::fixes::FixCode;

/// Reads the string that begins here.
pub(super) fn string(parser: &mut Parser<'_>, opening: Opening, key: bool) -> Result<(), Failure> {
    begin(parser, opening, key)?;
    parser.out.push('"');
    contents(parser, &[])
}

/// Goes on with the string that was open when the rest began.
pub(super) fn resume(parser: &mut Parser<'_>, key: bool, began: usize) -> Result<(), Failure> {
    parser.string = Literal::new(Form::DOUBLE, key, began);
    // `""` was not read as an empty string yet: its second quote was held.
    if began + 1 == parser.base && parser.text.starts_with("\"\"") {
        parser.at = 2;
        parser.string.form.triple = true;
        parser.string.form.python = true;
        triple(parser, 0)?;
    }
    contents(parser, &[])
}

/// Reads the string that begins here as the continuation of the last one.
pub(super) fn join(parser: &mut Parser<'_>, opening: Opening) -> Result<(), Failure> {
    let (at, closed) = (parser.at, parser.string.closed);
    parser.evidence.need(
        Level::NotJson,
        at,
        "two adjacent strings, in a text that may be JSON",
    );
    parser
        .needs_no_slip
        .get_or_insert((at, "adjacent strings, in a text with a slip"));
    parser.fix(FixCode::ConcatenatedStrings, at, "adjacent strings became one");
    parser.out.truncate(closed);
    begin(parser, opening, false)?;
    parser.string.joined = true;
    contents(parser, &[])
}

/// Reads on behind the closing quote of the last string, which was text after all, as the other quotes in `inner`.
pub(super) fn reread(parser: &mut Parser<'_>, inner: &[usize]) -> Result<(), Failure> {
    parser.at = parser.string.end;
    parser.out.truncate(parser.string.closed);
    contents(parser, inner)
}

/// Reads a prefix and the opening quotes; writes nothing.
fn begin(parser: &mut Parser<'_>, opening: Opening, key: bool) -> Result<(), Failure> {
    let Opening { form, prefix } = opening;
    let at = parser.at;
    parser.string = Literal::new(form, key, parser.base + at + prefix);
    if prefix > 0 {
        parser.evidence.python = true;
        let message = if form.raw {
            "the prefix `r` was removed, backslashes were doubled"
        } else {
            "the prefix `u` was removed"
        };
        parser.fix(FixCode::StringPrefix, at, message);
    }
    parser.at += opening.len();
    match form.quote {
        _ if form.triple => triple(parser, at + prefix),
        b'\'' => {
            note_single_quotes(parser, at + prefix);
            Ok(())
        }
        0xE2 => {
            parser.note_slip(Slip::TypographicQuotes, at)?;
            let message = "typographic quotes became double quotes";
            parser.fix(FixCode::SmartQuotes, at, message);
            Ok(())
        }
        b'`' => {
            parser.note_slip(Slip::Backticks, at)?;
            parser.fix(FixCode::Backticks, at, "backticks became double quotes");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Notes that the quotes at `at` became double ones.
#[inline]
pub(super) fn note_single_quotes(parser: &mut Parser<'_>, at: usize) {
    parser.evidence.not_json = true;
    parser.fix(FixCode::SingleQuotes, at, "single quotes became double quotes");
}

fn triple(parser: &mut Parser<'_>, at: usize) -> Result<(), Failure> {
    parser.evidence.triple_quotes = true;
    parser
        .needs_no_slip
        .get_or_insert((at, "three quotes, in a text with a slip"));
    // The first of them may have been passed on.
    let began = parser.string.began;
    parser
        .fixes
        .add(FixCode::TripleQuotes, began, "three quotes became one");
    // With two strings that lost their commas, the text between them would look like one in three quotes.
    match parser.from(parser.at).trim_start().as_bytes() {
        [b',' | b':' | b']' | b'}', ..] => Err(parser.refuse(at, AMBIGUOUS_TRIPLE)),
        _ => Ok(()),
    }
}

const AMBIGUOUS_TRIPLE: &str = "three quotes, and which belong together is ambiguous";

/// Reads up to the closing quote and writes that too. The quotes at the places `inner` are text.
fn contents(parser: &mut Parser<'_>, mut inner: &[usize]) -> Result<(), Failure> {
    let form = parser.string.form;
    let bytes = parser.text.as_bytes();
    loop {
        let rest = bytes.get(parser.at..).unwrap_or_default();
        parser.copy(plain(rest, form.quote));
        match parser.byte() {
            None => return Err(parser.ends_in_string(parser.string.began)),
            Some(byte) if byte == form.quote && form.typographic.is_some() => {
                let rest = parser.from(parser.at);
                if rest.starts_with(['\u{201c}', '\u{2018}']) {
                    let message =
                        "a typographic quote in typographic quotes, and where the string ends is ambiguous";
                    return Err(parser.refuse(parser.at, message));
                }
                if form.typographic.is_some_and(|closing| rest.starts_with(closing)) {
                    return close(parser, 3);
                }
                parser.copy(rest.chars().next().map_or(1, char::len_utf8));
            }
            Some(byte) if byte == form.quote => {
                if let Some((first, behind)) = inner.split_first()
                    && *first == parser.at
                {
                    inner = behind;
                    let message = "a quote inside the string was escaped";
                    parser.fix(FixCode::InnerQuote, parser.at, message);
                } else if !form.triple {
                    return close(parser, 1);
                } else if literal::is_triple(bytes, parser.at, form.quote) {
                    return close(parser, 3);
                }
                parser.replace(1, if byte == b'"' { "\\\"" } else { "'" });
            }
            Some(b'"') => parser.replace(1, "\\\""),
            Some(b'\\') if form.raw => raw_backslash(parser),
            Some(b'\\') if form.quote == b'`' => {
                return Err(parser.refuse(
                    parser.at,
                    "a backslash in backticks, which may be one or begin an escape",
                ));
            }
            Some(b'\\') => escape::escape(parser)?,
            Some(byte) => control(parser, byte)?,
        }
    }
}

fn close(parser: &mut Parser<'_>, quotes: usize) -> Result<(), Failure> {
    let at = parser.at;
    let Literal {
        form,
        control_escape,
        unknown_escape,
        escaped_apostrophe,
        line_continuation,
        raw_line_break,
        ..
    } = parser.string;
    if form.triple {
        let contents = parser.text.get(..at).unwrap_or_default().trim_end_matches(' ');
        if contents.ends_with([',', ':', '[', '{']) {
            return Err(parser.refuse(at, AMBIGUOUS_TRIPLE));
        }
        if raw_line_break && control_escape {
            let message =
                "three quotes with line breaks and with `\\n` or the like, which may be two characters";
            parser
                .evidence
                .need(Level::PythonWithoutTripleQuotes, at, message);
        }
    }
    if line_continuation && raw_line_break && !form.triple {
        let message = "a backslash at the end of a line, in a string with line breaks that are not escaped";
        return Err(parser.refuse(at, message));
    }
    if form.quote == b'`'
        && parser
            .contents(at)
            .is_some_and(|contents| contents.contains("${"))
    {
        return Err(parser.refuse(at, "a template of JavaScript, whose value is not in the text"));
    }
    if control_escape
        && form.python
        && !form.raw
        && parser.contents(at).is_none_or(|text| is_drive_path(&text))
    {
        return Err(parser.refuse(at, DRIVE_PATH));
    }
    if unknown_escape
        && parser
            .contents(at)
            .is_some_and(|text| has_ambiguous_escape(&text))
    {
        return Err(parser.refuse(
            at,
            "a backslash that is not escaped, beside an escape that may be one, too",
        ));
    }
    if escaped_apostrophe && parser.contents(at).is_none_or(|text| has_bare_apostrophe(&text)) {
        let message = "`\\'` and a `'` without a backslash in one string: perhaps nothing in it is escaped";
        parser.evidence.need(Level::Python, at, message);
    }
    parser.string.end = at;
    parser.string.closed = parser.out.len();
    parser.replace(quotes, "\"");
    Ok(())
}

pub(super) const DRIVE_PATH: &str = "a path of a drive, whose backslashes may be escapes";

/// Whether a text begins as a path of a drive: `C:\`.
pub(super) fn is_drive_path(text: &str) -> bool {
    let word = |text: &[u8]| text.iter().all(u8::is_ascii_alphanumeric);
    matches!(text.as_bytes(), [letter, b':', b'\\', next, behind, ..] if letter.is_ascii_alphabetic() && word(&[*next, *behind]))
}

/// Whether escapes of a string may be backslashes, where others are: `\b`, `\f` and `\/`, which nobody needs; those before
/// a letter (`\text`) where a word follows another backslash (`\sigma`); `\\` at the beginning or before white space.
fn has_ambiguous_escape(contents: &str) -> bool {
    let (mut word, mut before_letter) = (false, false);
    let mut bytes = contents.as_bytes();
    while let [byte, rest @ ..] = bytes {
        let begins = bytes.len() == contents.len();
        bytes = rest;
        let ([escape, behind @ ..], b'\\') = (rest, byte) else {
            continue;
        };
        bytes = behind;
        let letter = behind.first().is_some_and(u8::is_ascii_alphabetic);
        match escape {
            b'b' | b'f' | b'/' => return true,
            b'\\' if begins || behind.first().is_none_or(u8::is_ascii_whitespace) => return true,
            b'n' | b'r' | b't' => before_letter |= letter,
            escape => word |= letter && escape.is_ascii_alphabetic() && *escape != b'u',
        }
    }
    word && before_letter
}

fn has_bare_apostrophe(text: &str) -> bool {
    text.matches('\'').count() > text.matches("\\'").count()
}

/// In a raw string a backslash is one, and so is a quote or a backslash behind it.
fn raw_backslash(parser: &mut Parser<'_>) {
    parser.replace(1, "\\\\");
    match parser.byte() {
        Some(b'"') => parser.replace(1, "\\\""),
        Some(b'\\') => parser.replace(1, "\\\\"),
        Some(b'\'') => parser.replace(1, "'"),
        _ => {}
    }
}

pub(super) fn control(parser: &mut Parser<'_>, byte: u8) -> Result<(), Failure> {
    let at = parser.at;
    if parser.string.key {
        let message = "a line break or another control character in a key";
        return Err(parser.refuse(at, message));
    }
    parser.string.raw_line_break |= matches!(byte, b'\n' | b'\r');
    if !parser.string.form.triple {
        parser.raw_control = true;
        let message = "a control character in the string was escaped";
        parser.fix(FixCode::ControlCharacter, at, message);
    }
    if byte == b'\r' && (parser.string.form.triple || parser.string.form.raw) {
        return Err(parser.refuse(at, "a carriage return, which Python would drop or change here"));
    }
    escape::push(&mut parser.out, char::from(byte));
    parser.at += 1;
    Ok(())
}

/// Whether one of `\b \f \n \r \t` stands in the rest of a string of JSON, up to its closing quote.
pub(super) fn has_control_escape(contents: &str) -> bool {
    let mut bytes = contents.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'"' => return false,
            b'\\' if matches!(bytes.next(), Some(b'b' | b'f' | b'n' | b'r' | b't')) => return true,
            _ => {}
        }
    }
    false
}
