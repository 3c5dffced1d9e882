//! What stands around the value: text before and after it, a fence, brackets too many, the same value again.

use super::super::fixes::FixCode;
use super::draft::Draft;
use super::frame::State;
use super::gap::{self, gap};
use super::literal;
use super::mended::Unmended;
use super::prose;
use super::string;

const SPACE: [char; 4] = [' ', '\n', '\r', '\t'];

/// Finds where the value of the whole text begins.
pub(super) fn root(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    gap(draft, gap::Next::NoComment)?;
    let rest = draft.from(draft.at);
    let value = rest.starts_with(['{', '[', '('])
        || literal::opening(rest.as_bytes()).is_some()
        || string::pair(rest).is_some();
    match rest.find(['{', '[']) {
        _ if value => {}
        // Without a bracket: a number or a word.
        Some(object) if rest.get(object..).is_some_and(|rest| rest.starts_with('{')) => {
            prose_before(draft, object)?;
        }
        _ => {}
    }
    draft.root = Some(draft.at);
    Ok(State::Value)
}

fn prose_before(draft: &mut Draft<'_>, len: usize) -> Result<(), Unmended> {
    let at = draft.at;
    let whole = draft.from(at).get(..len).unwrap_or_default();
    if !prose::introduces(whole) {
        let message = "text before an object that may be more than an introduction";
        return Err(draft.refuse(at, message));
    }
    draft.fix(FixCode::TextBefore, at, "text before the object was removed");
    draft.at += len;
    draft.prose = true;
    Ok(())
}

/// Drops the `{}` that was opened last if it is the whole text so far and the real object follows: goes on inside
/// that one.
pub(super) fn empty_prefix(draft: &mut Draft<'_>) -> bool {
    let behind = draft.from(draft.at + 1);
    let object = behind.trim_start_matches(SPACE);
    if draft.frames.len() != 1 || draft.prose || draft.byte() != Some(b'}') || !object.starts_with('{') {
        return false;
    }
    draft.fix(
        FixCode::EmptyPrefix,
        draft.at,
        "an empty object before the real one was removed",
    );
    let contents = draft.frames.last().map_or(0, |frame| frame.contents);
    draft.out.truncate(contents);
    draft.root = Some(draft.text.len() - object.len());
    draft.at = draft.text.len() - object.len() + 1;
    true
}

/// Reads what follows the value of the whole text, up to the end.
pub(super) fn done(draft: &mut Draft<'_>) -> Result<(), Unmended> {
    gap(draft, gap::Next::NoComment)?;
    let at = draft.at;
    let rest = draft.from(at);
    let Some(first) = rest.chars().next() else {
        return Ok(());
    };
    let spaced = draft
        .backwards(at)
        .next()
        .is_some_and(|before| SPACE.contains(&before));
    let bracket = root_bracket(draft);
    draft.evidence.trust(
        at,
        "something follows the value, in a text with a quote that is not escaped",
    );
    let (code, message) = if bracket == Some('{') && !draft.prose && is_closers(rest) {
        if has_lost_its_head(draft) {
            let message =
                "a closing bracket too many, and by its indentation the object is a part of another";
            return Err(draft.refuse(at, message));
        }
        draft.evidence.extra_closers(at);
        (
            FixCode::ExtraClosers,
            "closing brackets without an opening one were removed",
        )
    } else if bracket == Some(first) && !draft.prose && (spaced || first == '{') {
        copies(draft)?;
        (FixCode::Doubled, "the same value came again and was removed")
    } else if text_may_follow(draft, bracket, first) && prose::concludes(rest) {
        (FixCode::TextAfter, "text after the value was removed")
    } else {
        return Err(draft.refuse(at, "something follows the value"));
    };
    draft.fix(code, at, message);
    draft.at = draft.text.len();
    Ok(())
}

/// Whether text may follow the value: behind an array in lines of its own only, since `[0, 10] step 2` goes on.
fn text_may_follow(draft: &Draft<'_>, bracket: Option<char>, first: char) -> bool {
    let mut space = draft
        .backwards(draft.at)
        .take_while(|before| SPACE.contains(before));
    match bracket {
        None => false,
        _ if matches!(first, '`' | '<') => true,
        Some('{') => space.next().is_some(),
        Some(_) => space.any(|space| matches!(space, '\n' | '\r')),
    }
}

/// Whether the object before closing brackets too many stands further to the right than the first of those, or in a
/// text of several lines does not begin its own: then the brackets are not too many, but the beginning of what they
/// close is missing.
fn has_lost_its_head(draft: &Draft<'_>) -> bool {
    let text = draft.text.get(..draft.at).unwrap_or_default();
    let sent = draft.sent.unwrap_or_default();
    let space = sent
        .chars()
        .chain(text.chars())
        .take_while(|first| SPACE.contains(first));
    let indented = space.last().is_some_and(|last| matches!(last, ' ' | '\t'));
    let own = column(
        draft
            .backwards(draft.at)
            .skip_while(|before| SPACE.contains(before))
            .skip(1),
    );
    let extra = column(draft.backwards(draft.at));
    indented && (sent.contains('\n') || text.contains('\n'))
        || own.zip(extra).is_some_and(|(own, extra)| own > extra)
}

/// How much white space stands before a place in its line, if nothing else does. `before` is what comes before the
/// place, backwards.
fn column(before: impl Iterator<Item = char>) -> Option<usize> {
    let mut column = 0;
    for before in before {
        match before {
            '\n' | '\r' => break,
            ' ' | '\t' => column += 1,
            _ => return None,
        }
    }
    Some(column)
}

/// The bracket that the value of the whole text begins with, if it is a container, as far as that is known.
fn root_bracket(draft: &Draft<'_>) -> Option<char> {
    let text = draft.root.map_or(draft.sent, |root| Some(draft.from(root)));
    let first = text?.trim_start_matches(SPACE).chars().next();
    first.filter(|first| matches!(first, '{' | '['))
}

/// Whether there are only brackets as an object has at its end: `]` may have lost its `[`.
fn is_closers(rest: &str) -> bool {
    rest.trim_end_matches(SPACE)
        .chars()
        .all(|character| character == '}' || SPACE.contains(&character))
}

/// Makes sure that nothing follows but copies of the value, byte for byte.
fn copies(draft: &Draft<'_>) -> Result<(), Unmended> {
    let within = draft
        .text
        .get(draft.root.unwrap_or(0)..draft.root_end)
        .unwrap_or_default();
    // The part that was passed on, white space behind a complete value with it.
    let before = match (draft.root, draft.sent) {
        (Some(_), _) => "",
        (None, Some(sent)) if within.is_empty() => sent.trim_matches(SPACE),
        (None, Some(sent)) => sent.trim_start_matches(SPACE),
        (None, None) => return Err(draft.refuse(draft.at, "something follows a value too long to compare")),
    };
    let mut rest = draft.from(draft.at);
    while !rest.is_empty() {
        let Some(behind) = rest
            .strip_prefix(before)
            .and_then(|rest| rest.strip_prefix(within))
        else {
            let begun = match rest.strip_prefix(before) {
                Some(rest) => within.starts_with(rest),
                None => before.starts_with(rest),
            };
            return Err(if begun {
                draft.ends()
            } else {
                draft.refuse(draft.at, "another value follows")
            });
        };
        rest = behind.trim_start_matches(SPACE);
    }
    Ok(())
}
