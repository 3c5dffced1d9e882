//! Strings in typographic quotes.

use super::failure::Failure;
use super::frame::Kind;
use super::literal::{Form, Literal};
use super::plain_run::plain;
use super::slip::Slip;
use super::state::{Parser, SPACE};
use super::{escape, string};
use crate::fixes::FixCode;

/// The opening and the closing quote, if `text` begins with an opening one.
pub(super) fn quotes(text: &str) -> Option<(char, char)> {
    match text.chars().next()? {
        opening @ '\u{201c}' => Some((opening, '\u{201d}')),
        opening @ '\u{2018}' => Some((opening, '\u{2019}')),
        _ => None,
    }
}

/// Reads the string that begins here between the quotes of a pair: up to the first closing one, which must be
/// followed by what follows a string.
pub(super) fn typographic(
    parser: &mut Parser<'_>,
    (opening, closing): (char, char),
    key: bool,
) -> Result<(), Failure> {
    let began = parser.at;
    parser.string = Literal::new(Form::DOUBLE, key, parser.base + began);
    parser.note_slip(Slip::TypographicQuotes, began)?;
    let from = began + opening.len_utf8();
    let Some(end) = parser.from(from).find([opening, closing]).map(|len| from + len) else {
        return Err(parser.ends_in_string(parser.string.began));
    };
    let message = "typographic quotes became double quotes";
    parser.fix(FixCode::SmartQuotes, began, message);
    parser.replace(opening.len_utf8(), "\"");
    while let Some(rest) = parser.text.as_bytes().get(parser.at..end) {
        parser.copy(plain(rest, b'"'));
        match parser.byte() {
            _ if parser.at >= end => break,
            Some(b'"') => parser.replace(1, "\\\""),
            Some(b'\\') => escape::escape(parser)?,
            Some(byte) => string::control(parser, byte)?,
            None => break,
        }
    }
    let closes = parser.from(end).starts_with(closing);
    parser.replace(closing.len_utf8(), "\"");
    if closes && is_followed(parser, key) {
        Ok(())
    } else {
        Err(parser.refuse(end, "a typographic quote, and where the string ends is ambiguous"))
    }
}

/// Whether what comes next may follow a string.
fn is_followed(parser: &Parser<'_>, key: bool) -> bool {
    let behind = parser.from(parser.at).trim_start_matches(SPACE);
    match (behind.bytes().next(), parser.inside()) {
        (Some(byte), _) if key => byte == b':',
        (None, _) | (Some(b','), Some(_)) => true,
        (Some(byte), inside) => inside.map(Kind::closer) == Some(byte),
    }
}
