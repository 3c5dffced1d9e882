//! Strings in typographic quotes.

use super::super::super::fixes::FixCode;
use super::super::draft::Draft;
use super::super::frame::Kind;
use super::super::literal::{Form, Literal};
use super::super::mended::Unmended;
use super::{contents, escape, run};

/// The opening and the closing quote, if `text` begins with an opening one.
pub(in super::super) fn pair(text: &str) -> Option<(char, char)> {
    match text.chars().next()? {
        opening @ '\u{201c}' => Some((opening, '\u{201d}')),
        opening @ '\u{2018}' => Some((opening, '\u{2019}')),
        _ => None,
    }
}

/// Reads the string that begins here between the quotes of a pair: up to the first closing one, which must be
/// followed by what follows a string.
pub(in super::super) fn smart(
    draft: &mut Draft<'_>,
    (opening, closing): (char, char),
    key: bool,
) -> Result<(), Unmended> {
    let began = draft.at;
    draft.string = Literal::new(Form::JSON, key, draft.base + began);
    let from = began + opening.len_utf8();
    let Some(end) = draft.from(from).find([opening, closing]).map(|len| from + len) else {
        return Err(draft.ends_in_string(draft.string.began));
    };
    if draft.from(end).starts_with(opening) {
        return Err(draft.refuse(end, "a typographic quote inside typographic quotes"));
    }
    draft.fix(
        FixCode::SmartQuotes,
        began,
        "typographic quotes became double quotes",
    );
    draft.replace(opening.len_utf8(), "\"");
    while let Some(rest) = draft.text.as_bytes().get(draft.at..end) {
        draft.copy(run::plain(rest, b'"'));
        match draft.byte() {
            _ if draft.at >= end => break,
            Some(b'"') => draft.replace(1, "\\\""),
            Some(b'\\') => escape::json(draft)?,
            Some(byte) => contents::control(draft, byte)?,
            None => break,
        }
    }
    draft.replace(closing.len_utf8(), "\"");
    if follows(draft, key) {
        Ok(())
    } else {
        Err(draft.refuse(
            end,
            "a typographic quote, and where the string ends is not certain",
        ))
    }
}

/// Whether what comes next may follow a string.
fn follows(draft: &Draft<'_>, key: bool) -> bool {
    let behind = draft.from(draft.at).trim_start_matches([' ', '\n', '\r', '\t']);
    match (behind.bytes().next(), draft.inside()) {
        (Some(byte), _) if key => byte == b':',
        (None, _) | (Some(b','), Some(_)) => true,
        (Some(byte), inside) => inside.map(Kind::closer) == Some(byte),
    }
}
