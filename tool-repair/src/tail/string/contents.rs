//! The contents of a string literal, up to its closing quote.

use super::super::super::fixes::FixCode;
use super::super::draft::Draft;
use super::super::frame::Kind;
use super::super::literal::{self, Literal};
use super::super::mended::Unmended;
use super::{escape, run};

/// Reads up to the closing quote and writes that too. The quotes at the places `inner` are text.
pub(super) fn contents(draft: &mut Draft<'_>, mut inner: &[usize]) -> Result<(), Unmended> {
    let form = draft.string.form;
    let bytes = draft.text.as_bytes();
    loop {
        let rest = bytes.get(draft.at..).unwrap_or_default();
        draft.copy(run::plain(rest, form.quote));
        match draft.byte() {
            None => return Err(draft.ends_in_string(draft.string.began)),
            Some(byte) if byte == form.quote => {
                if let Some((first, behind)) = inner.split_first()
                    && *first == draft.at
                {
                    inner = behind;
                    let message = "a quote inside the string was escaped";
                    draft.fix(FixCode::InnerQuote, draft.at, message);
                } else if !form.triple {
                    return close(draft, 1);
                } else if literal::is_triple(bytes, draft.at, form.quote) {
                    return close(draft, 3);
                }
                draft.replace(1, if byte == b'"' { "\\\"" } else { "'" });
            }
            Some(b'"') => draft.replace(1, "\\\""),
            Some(b'\\') if form.raw => raw_backslash(draft),
            Some(b'\\') if form.python => escape::python(draft)?,
            Some(b'\\') => escape::json(draft)?,
            Some(byte) => control(draft, byte)?,
        }
    }
}

fn close(draft: &mut Draft<'_>, quotes: usize) -> Result<(), Unmended> {
    let at = draft.at;
    if draft.string.form.triple {
        let contents = draft.text.get(..at).unwrap_or_default().trim_end();
        if contents.ends_with([',', ':', '[', '{']) {
            return Err(draft.refuse(at, "three quotes, and which belong together is not certain"));
        }
    }
    let Literal {
        escaped_apostrophe,
        raw_break,
        double_backslash,
        escaped_quote,
        joined,
        ..
    } = draft.string;
    if raw_break && double_backslash && !escaped_quote {
        let message = "a string with `\\\\` and with a line break that is not escaped: perhaps nothing in it is escaped";
        return Err(draft.refuse(at, message));
    }
    // Those that are joined need Python anyway.
    if escaped_apostrophe && !joined && has_apostrophe(draft) {
        let message = "`\\'` and a `'` without a backslash in one string: perhaps nothing in it is escaped";
        draft.evidence.needs_python(at, message);
    }
    draft.string.end = at;
    draft.string.closed = draft.out.len();
    draft.replace(quotes, "\"");
    Ok(())
}

/// Whether a `'` stands in the string that ends here without a backslash before it, as far as that is known.
fn has_apostrophe(draft: &Draft<'_>) -> bool {
    let contents = draft.string.began + 1;
    let Some(sent) = draft.sent.or((contents >= draft.base).then_some("")) else {
        return true;
    };
    let here = draft.text.get(contents.saturating_sub(draft.base)..draft.at);
    let mut bytes = sent
        .bytes()
        .skip(contents)
        .chain(here.unwrap_or_default().bytes());
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'\'' => return true,
            _ => {}
        }
    }
    false
}

/// In a raw string a backslash is one, and so is a quote or a backslash behind it.
fn raw_backslash(draft: &mut Draft<'_>) {
    draft.replace(1, "\\\\");
    match draft.byte() {
        Some(b'"') => draft.replace(1, "\\\""),
        Some(b'\\') => draft.replace(1, "\\\\"),
        Some(b'\'') => draft.replace(1, "'"),
        _ => {}
    }
}

pub(super) fn control(draft: &mut Draft<'_>, byte: u8) -> Result<(), Unmended> {
    let at = draft.at;
    if draft.string.key {
        let message = "a line break or another control character in a key";
        return Err(draft.refuse(at, message));
    }
    if draft.string.form.triple {
        if byte == b'\r' {
            return Err(draft.refuse(
                at,
                "a carriage return in three quotes, which Python would drop or change",
            ));
        }
    } else {
        let in_list = draft.inside() != Some(Kind::Object);
        if matches!(byte, b'\n' | b'\r') && in_list && is_behind_comma(draft) {
            let message = "a line break behind a comma in a string in a list: quotes may be missing there";
            return Err(draft.refuse(at, message));
        }
        if matches!(byte, b'\n' | b'\r') {
            draft.string.raw_break = true;
            escape::doubt_mixture(draft)?;
        }
        draft.evidence.control();
        if in_list {
            draft.evidence.control_in_list(at);
        }
        draft.fix(
            FixCode::ControlCharacter,
            at,
            "a control character in the string was escaped",
        );
    }
    escape::push(&mut draft.out, char::from(byte));
    draft.at += 1;
    Ok(())
}

/// Whether the line ends with a comma here, as far as that is known.
fn is_behind_comma(draft: &Draft<'_>) -> bool {
    let before = draft.text.get(..draft.at).unwrap_or_default();
    match before.trim_end_matches(' ') {
        "" => draft
            .sent
            .is_none_or(|sent| sent.trim_end_matches(' ').ends_with(',')),
        line => line.ends_with(','),
    }
}
