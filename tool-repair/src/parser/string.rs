//! Parses strings and writes them as JSON.

use super::escape;
use super::evidence::Level;
use super::failure::Failure;
use super::literal::{Form, Literal};
use super::result::{self, DRIVE_PATH};
use super::state::{NOT_KEPT, Parser};
use crate::fixes::FixCode;
use crate::scan::plain_before;

/// Parses a string.
pub(super) fn string(parser: &mut Parser<'_>, form: Form, key: bool) -> Result<(), Failure> {
    begin(parser, form, key)?;
    parser.out.push('"');
    contents(parser, &[])
}

/// Continues the string that was open at the start of the rest.
pub(super) fn resume(parser: &mut Parser<'_>, key: bool, began: usize) -> Result<(), Failure> {
    parser.string = Literal::new(Form::DOUBLE, key, began);
    // `""` was not parsed as an empty string yet: its second quote was held.
    if began + 1 == parser.base && parser.text.starts_with("\"\"") {
        parser.at = 2;
        parser.string.form.closing = "\"\"\"";
        note_triple_quotes(parser)?;
    }
    contents(parser, &[])
}

/// Parses a string as the continuation of the last one.
pub(super) fn join(parser: &mut Parser<'_>, form: Form) -> Result<(), Failure> {
    let (at, closed) = (parser.at, parser.string.closed);
    // `'x = '⏎'.join(y)'` is a text with a line break between quotes; formatted code is indented.
    let indented = matches!(parser.backwards(at).next(), Some(' ' | '\t'));
    let level = if indented {
        Level::NotJson
    } else {
        Level::TripleQuotes
    };
    let message = "two adjacent strings, in a text that has nothing else of Python";
    parser.evidence.need(level, at, message);
    let objection = (at, "adjacent strings, in a text with a slip");
    parser.needs_no_slip.get_or_insert(objection);
    parser.fix(FixCode::ConcatenatedStrings, at);
    parser.out.truncate(closed);
    begin(parser, form, false)?;
    contents(parser, &[])
}

/// Continues after the closing quote of the last string, which is text, like the other quotes in `inner`.
pub(super) fn reread(parser: &mut Parser<'_>, inner: &[usize]) -> Result<(), Failure> {
    parser.at = parser.string.end;
    parser.out.truncate(parser.string.closed);
    contents(parser, inner)
}

/// Parses a prefix and the opening quotes; writes nothing.
fn begin(parser: &mut Parser<'_>, form: Form, key: bool) -> Result<(), Failure> {
    let at = parser.at;
    parser.string = Literal::new(form, key, parser.base + at + form.prefix);
    if form.prefix > 0 {
        parser.evidence.see(Level::Python);
        parser.fix(FixCode::StringPrefix, at);
    }
    parser.at += form.len();
    match form.quote() {
        _ if form.is_triple() => note_triple_quotes(parser)?,
        b'\'' => note_single_quotes(parser, at + form.prefix),
        0xE2 => parser.slip(FixCode::SmartQuotes, at)?,
        b'`' => parser.slip(FixCode::Backticks, at)?,
        _ => {}
    }
    Ok(())
}

/// Records that the quotes at `at` became double ones.
#[inline]
pub(super) fn note_single_quotes(parser: &mut Parser<'_>, at: usize) {
    parser.evidence.see(Level::NotJson);
    parser.fix(FixCode::SingleQuotes, at);
}

/// Records that the quotes of this string became one. The first of them may have been passed on.
fn note_triple_quotes(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let Literal { began, form, .. } = parser.string;
    parser.evidence.see(Level::TripleQuotes);
    // After a colon, one quote of `"""` may be redundant, and the key after it would look like contents.
    let after = parser.from(parser.at).trim_start_matches([',', ':', ' ']);
    let key = after.starts_with(char::from(form.quote())) && !after.starts_with(form.closing);
    let message = "three quotes, and which belong together is ambiguous";
    parser.refuse_if(key, parser.at, message)?;
    let objection = "three quotes, in a text with a slip";
    let at = began.saturating_sub(parser.base);
    parser.needs_no_slip.get_or_insert((at, objection));
    parser.fixes.add(FixCode::TripleQuotes, began);
    Ok(())
}

/// Parses up to the closing quote and writes that too. The quotes at the positions `inner` are text.
fn contents(parser: &mut Parser<'_>, mut inner: &[usize]) -> Result<(), Failure> {
    let form = parser.string.form;
    let quote = form.quote();
    loop {
        parser.copy(plain_before(parser.rest(), quote));
        match parser.byte() {
            None => return Err(parser.ends_in_string(parser.string.began)),
            Some(byte) if byte == quote && form.closes(parser.rest()) => {
                match inner.split_first() {
                    Some((first, after)) if *first == parser.at => inner = after,
                    _ => return close(parser),
                }
                parser.fix(FixCode::InnerQuote, parser.at);
                parser.replace(1, if byte == b'"' { "\\\"" } else { "'" });
            }
            Some(0xE2) => parser.copy(3), // a character that begins as the closing quote
            Some(b'\'') => parser.copy(1),
            Some(b'"') => parser.replace(1, "\\\""),
            Some(b'\\') if form.raw => raw_backslash(parser),
            Some(b'\\') if quote == b'`' => {
                let message = "a backslash in backticks, which may be one or begin an escape";
                return Err(parser.refuse(parser.at, message));
            }
            Some(b'\\') => escape::escape(parser)?,
            Some(byte) => control(parser, byte)?,
        }
    }
}

fn close(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let at = parser.at;
    if parser.string.has_escapes {
        check_escapes(parser)?;
    } else if parser.string.form.closing == "`" {
        let template = parser.contents(at).is_none_or(|contents| contents.contains("${"));
        let message = "a template of JavaScript, whose value is not in the text";
        parser.refuse_if(template, at, message)?;
    }
    parser.string.end = at;
    parser.string.closed = parser.out.len();
    parser.replace(parser.string.form.closing.len(), "\"");
    Ok(())
}

/// Refuses escapes in the last string that may be backslashes, if its whole contents are evidence of that.
fn check_escapes(parser: &mut Parser<'_>) -> Result<(), Failure> {
    let (at, form, unknown_escape) = (parser.at, parser.string.form, parser.string.unknown_escape);
    let Some(contents) = parser.contents(at) else {
        return Err(parser.refuse(at, NOT_KEPT));
    };
    let escapes = || escape::escapes(&contents).map(|(escape, _)| escape);
    let has = |wanted: &str| escapes().any(|escape| wanted.contains(escape));
    let (python, drive) = (form.is_python(), result::has_drive(&contents));
    let raw_line_break = parser.string.has_line_break;
    parser.refuse_if(python && result::is_drive_path(&contents), at, DRIVE_PATH)?;
    let continued = raw_line_break && !form.is_triple() && has("\n\r");
    let message = "a backslash at the end of a line, in a string with line breaks that are not escaped";
    parser.refuse_if(continued, at, message)?;
    let message = "a backslash that is not escaped, beside an escape that may be one, too";
    parser.refuse_if(unknown_escape && has_ambiguous_escape(&contents), at, message)?;
    let is_hexadecimal = |after: &str| after.starts_with(|next: char| next.is_ascii_hexdigit());
    let is_odd =
        |(escape, after): (char, &str)| !escape.is_ascii() || escape == 'u' && !is_hexadecimal(after);
    if !drive && escape::escapes(&contents).any(is_odd) {
        let message = "a backslash before a letter beyond ASCII, or `\\u` without its digits";
        parser.refuse_if(!python, at, message)?;
        parser.evidence.need(Level::Python, at, message);
    }
    if !python && has("av") {
        let message = "an escape that Python alone has, where nothing shows that backslashes are not escaped";
        let backslash = |escape: char| !"\"\\/bfnrtu'avxUN01234567\n\r".contains(escape);
        let others = has("a") && has("v") || escapes().any(backslash);
        parser.refuse_if(!drive && !others, at, message)?;
        parser.evidence.need_none(at, message);
    }
    if raw_line_break && form.is_triple() && has("nrt") {
        let message = "three quotes with line breaks and with `\\n` or the like, which may be two characters";
        parser.evidence.need(Level::Python, at, message);
    }
    let apostrophes = escapes().filter(|escape| *escape == '\'').count();
    if !python && (1..contents.matches('\'').count()).contains(&apostrophes) {
        let message = "`\\'` and a `'` without a backslash in one string: perhaps nothing in it is escaped";
        parser.evidence.need(Level::TripleQuotes, at, message);
    }
    Ok(())
}

/// Returns whether escapes of a string may be backslashes, where others are: `\b`, `\f` and `\/`, which are never
/// needed; an escape before a letter (`\text`) where a word follows another backslash (`\sigma`); `\\` at the
/// beginning, before white space, and before a letter that makes it another escape (`\\n`); a line break or a tab
/// beside classes of a pattern alone (`\d+\n`).
fn has_ambiguous_escape(contents: &str) -> bool {
    let (mut word, mut before_letter, mut breaks, mut class, mut pattern) = (false, false, 0, false, true);
    for (escape, after) in escape::escapes(contents) {
        let letter = after.starts_with(|next: char| next.is_ascii_alphabetic());
        match escape {
            'b' | 'f' | '/' => return true,
            '\\' => {
                // The last pair of a run of backslashes decides for all of them.
                let next = after.strip_prefix('\\').unwrap_or(after).chars().next();
                let ambiguous = next.is_none_or(|next| next.is_whitespace() || "ntr\"'".contains(next));
                if ambiguous || after.len() + 2 == contents.len() {
                    return true;
                }
                pattern = false;
            }
            'n' | 'r' | 't' => {
                before_letter |= letter;
                breaks += 1;
            }
            _ => {
                class |= "dwsDWS".contains(escape) && !letter;
                pattern &= "dwsDWS".contains(escape) || escape.is_ascii_punctuation();
                word |= !escape.is_ascii() || letter && escape.is_ascii_alphabetic() && escape != 'u';
            }
        }
    }
    // Code in several lines has blanks, and may contain a pattern.
    let is_pattern = pattern && class && (breaks == 1 || breaks > 1 && !contents.contains(' '));
    word && before_letter || is_pattern
}

/// Parses a backslash in a raw string: it represents itself, and so does a quote or a backslash after it.
fn raw_backslash(parser: &mut Parser<'_>) {
    parser.replace(1, "\\\\");
    if let Some(byte @ (b'"' | b'\'' | b'\\')) = parser.byte() {
        escape::push(&mut parser.out, char::from(byte));
        parser.at += 1;
    }
}

fn control(parser: &mut Parser<'_>, byte: u8) -> Result<(), Failure> {
    let (at, Literal { form, key, .. }) = (parser.at, parser.string);
    let message = "a line break or another control character in a key";
    parser.refuse_if(key && !form.is_triple(), at, message)?;
    let message = "a carriage return, which Python would drop or change here";
    parser.refuse_if(byte == b'\r' && (form.is_triple() || form.raw), at, message)?;
    if !form.is_triple() {
        parser.fix(FixCode::ControlCharacter, at);
    }
    parser.string.has_line_break |= matches!(byte, b'\n' | b'\r');
    escape::push(&mut parser.out, char::from(byte));
    parser.at += 1;
    Ok(())
}
