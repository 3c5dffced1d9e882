//! Reads string literals of every kind and writes them as JSON.

mod run;
mod escape;
mod contents;
mod smart;

use super::super::fixes::FixCode;
use super::draft::Draft;
use super::literal::{Form, Literal, Opening};
use super::mended::Unmended;
use contents::contents;

pub(super) use run::plain;
pub(super) use smart::{pair, smart};

/// Reads the literal that begins here.
pub(super) fn string(draft: &mut Draft<'_>, opening: Opening, key: bool) -> Result<(), Unmended> {
    begin(draft, opening, key)?;
    draft.out.push('"');
    contents(draft, &[])
}

/// Goes on with the string that was open when the rest began.
pub(super) fn resume(
    draft: &mut Draft<'_>,
    key: bool,
    began: usize,
    doubtful_escape: bool,
) -> Result<(), Unmended> {
    draft.string = Literal::new(Form::JSON, key, began);
    draft.string.doubtful_escape = doubtful_escape;
    let passed_on = draft.sent.and_then(|sent| sent.get(began..));
    if let Some(contents) = passed_on {
        draft.string.double_backslash = contents.contains("\\\\");
        draft.string.escaped_quote = contents.contains("\\\"");
        draft.string.doubtful_escape |= contents.contains("[\\u") || contents.contains("-\\u");
    }
    let at = draft.at;
    // `""` was not read as an empty string yet: its second quote was held.
    if began + 1 == draft.base && draft.text.starts_with("\"\"") {
        draft.at = 2;
        draft.string.form.triple = true;
        draft.string.form.python = true;
        triple(draft, 0)?;
    }
    contents(draft, &[])?;
    // Where it is not kept, `\\` may have been there, whatever else is read of this string.
    if passed_on.is_none() {
        if draft.string.unknown_escape {
            return Err(draft.refuse(at, "what came before is too long to be looked at again"));
        }
        draft.string.double_backslash = true;
    }
    Ok(())
}

/// Reads the literal that begins here as the continuation of the last one.
pub(super) fn join(draft: &mut Draft<'_>, opening: Opening) -> Result<(), Unmended> {
    let last = draft.string;
    let Literal {
        form, began, closed, ..
    } = last;
    let (at, high) = (draft.at, ends_in_high_surrogate(draft, closed));
    if form.quote == b'"' && !form.python && opening.form == Form::JSON {
        draft.evidence.needs_python(
            at,
            "two strings side by side, in a text that has nothing else of Python",
        );
    }
    draft.evidence.join(at);
    draft.fix(
        FixCode::ConcatenatedStrings,
        at,
        "strings side by side became one",
    );
    draft.out.truncate(closed);
    begin(draft, opening, false)?;
    if high && escape::is_low_surrogate(draft.from(draft.at)) {
        return Err(draft.refuse(at, "two halves of a surrogate pair in two strings"));
    }
    draft.string = Literal {
        began,
        joined: true,
        unknown_escape: last.unknown_escape,
        double_backslash: last.double_backslash,
        doubtful_escape: last.doubtful_escape,
        ..draft.string
    };
    contents(draft, &[])
}

/// Reads on behind the closing quote of the last literal, which was text after all, as the other quotes in `inner`.
pub(super) fn reread(draft: &mut Draft<'_>, inner: &[usize]) -> Result<(), Unmended> {
    draft.at = draft.string.end;
    draft.out.truncate(draft.string.closed);
    contents(draft, inner)
}

/// Reads a prefix and the opening quotes; writes nothing.
fn begin(draft: &mut Draft<'_>, opening: Opening, key: bool) -> Result<(), Unmended> {
    let Opening { form, prefix } = opening;
    let at = draft.at;
    draft.string = Literal::new(form, key, draft.base + at + prefix);
    if prefix > 0 {
        draft.evidence.python();
        let message = if form.raw {
            "the prefix `r` was removed, backslashes were doubled"
        } else {
            "the prefix `u` was removed"
        };
        draft.fix(FixCode::StringPrefix, at, message);
    }
    draft.at += opening.len();
    if form.triple {
        triple(draft, at + prefix)?;
    } else if form.quote == b'\'' {
        note_single_quotes(draft, at + prefix);
    }
    Ok(())
}

/// Notes that the quotes at `at` became double ones.
#[inline]
pub(super) fn note_single_quotes(draft: &mut Draft<'_>, at: usize) {
    draft.evidence.python();
    draft.fix(FixCode::SingleQuotes, at, "single quotes became double quotes");
}

fn triple(draft: &mut Draft<'_>, at: usize) -> Result<(), Unmended> {
    draft.evidence.python();
    draft
        .evidence
        .trust(at, "three quotes in a text with a quote that is not escaped");
    // The first of them may have been passed on.
    let began = draft.string.began;
    draft
        .fixes
        .add(FixCode::TripleQuotes, began, "three quotes became one");
    if draft.string.key {
        return Err(draft.refuse(at, "a key in three quotes"));
    }
    // With two strings that lost their commas, the text between them would look like one in three quotes.
    match draft.from(draft.at).trim_start().as_bytes() {
        [b',' | b':' | b']' | b'}', ..] => {
            Err(draft.refuse(at, "three quotes, and which belong together is not certain"))
        }
        _ => Ok(()),
    }
}

/// Whether the output up to `closed` ends in the first half of a surrogate pair, as far as that can be known.
fn ends_in_high_surrogate(draft: &Draft<'_>, closed: usize) -> bool {
    let written = draft.out.get(..closed).unwrap_or_default();
    match written.len().checked_sub(6) {
        Some(from) => written.get(from..).is_some_and(escape::is_high_surrogate),
        // The last escape may have been passed on.
        None => draft.sent.is_none_or(|sent| {
            let before = sent.len().saturating_sub(6);
            let near = [sent.get(before..).unwrap_or_default(), written].concat();
            near.len()
                .checked_sub(6)
                .and_then(|from| near.get(from..))
                .is_some_and(escape::is_high_surrogate)
        }),
    }
}
