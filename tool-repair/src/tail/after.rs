//! What follows a value inside a container: a comma, a closing bracket, or what only makes sense if a comma or a
//! backslash was forgotten.

use super::super::fixes::FixCode;
use super::draft::Draft;
use super::frame::{Comma, Kind, Last, State};
use super::gap::{self, Gap, gap};
use super::inner::{self, Undecided};
use super::key;
use super::literal::{self, Opening};
use super::mended::Unmended;
use super::string;
use super::value::behind;

/// Reads on behind a value.
pub(super) fn after(draft: &mut Draft<'_>, last: Last) -> Result<State, Unmended> {
    let written = draft.out.len();
    // In `[5. 6]` the point may be the comma.
    let pointed = draft.before(draft.at) == Some(b'.');
    let mut gap = gap(draft, gap::Next::Punctuation)?;
    gap.space |= draft.at == 0 && draft.before(0).is_some_and(|before| before.is_ascii_whitespace());
    let at = draft.at;
    let (Some(byte), Some(inside)) = (draft.byte(), draft.inside()) else {
        return Err(draft.ends());
    };
    if byte == b',' {
        return comma(draft);
    }
    if byte == inside.closer() {
        return Ok(close(draft));
    }
    if last == Last::String {
        return behind_string(draft, gap, inside, written);
    }
    let missing =
        (inside, last, byte) == ADJACENT || gap.space && !pointed && misses_comma(draft, inside, last, byte)?;
    if missing && byte == b'{' && has_empty_neighbour(draft, written) {
        let message = "a comma is missing beside an empty object, which may be the beginning of the other";
        return Err(draft.refuse(at, message));
    }
    if missing {
        return missing_comma(draft, written);
    }
    Err(draft.refuse(at, inside.misses_comma()))
}

/// Reads the closing bracket that fits.
pub(super) fn close(draft: &mut Draft<'_>) -> State {
    let Some(kind) = draft.inside() else {
        return State::Done;
    };
    // Of most frames, the rest is not wanted; reading all of what was written in parts just now would take its time.
    let frame = draft.frames.pop();
    let Some(frame) = frame.filter(|_| kind == Kind::Parentheses) else {
        draft.copy(1);
        return behind(draft, Last::Container(kind.closer()));
    };
    if frame.comma {
        draft.evidence.python();
        draft.fix(FixCode::Tuple, frame.opened, "a tuple became an array");
        draft.replace(1, "]");
        return behind(draft, Last::Container(b')'));
    }
    draft.fix(
        FixCode::Parentheses,
        frame.opened,
        "parentheses around one value were removed",
    );
    draft.evidence.python_only(
        frame.opened,
        "parentheses around one value, in a text with a comma or a bracket missing or too many elsewhere",
    );
    let bracket = frame.contents - 1;
    draft.out.replace_range(bracket..frame.contents, " ");
    draft.at += 1;
    behind(draft, Last::Other)
}

/// Reads what follows a comma: another value, or a bracket that makes the comma too many.
pub(super) fn next(draft: &mut Draft<'_>, comma: Option<Comma>) -> Result<State, Unmended> {
    gap(draft, gap::Next::Content)?;
    let at = draft.at;
    let (Some(byte), Some(inside)) = (draft.byte(), draft.inside()) else {
        return Err(draft.ends());
    };
    if byte == inside.closer()
        && let Some(comma) = comma
    {
        if inside != Kind::Parentheses {
            draft.fix(
                FixCode::TrailingComma,
                comma.at,
                "a comma before a closing bracket was removed",
            );
        }
        draft.out.remove(comma.written);
        return Ok(close(draft));
    }
    if inside != Kind::Object {
        return Ok(State::Value);
    }
    if byte == b','
        && let Some(first) = comma
    {
        if first.at + 1 < at {
            return Err(draft.refuse(at, "two commas apart: what belongs between them may be missing"));
        }
        draft.evidence.slip(at);
        draft.fix(FixCode::DoubleComma, at, "one of two commas was removed");
        draft.at += 1;
        return Ok(State::Next { comma });
    }
    key::key(draft)
}

fn comma(draft: &mut Draft<'_>) -> Result<State, Unmended> {
    let at = draft.at;
    if let Some(frame) = draft.frames.last_mut() {
        frame.comma = true;
        if frame.kind == Kind::Parentheses && frame.joined {
            return Err(draft.refuse(at, "strings side by side in a tuple: a comma may be missing"));
        }
    }
    let comma = Some(Comma {
        at,
        written: draft.out.len(),
    });
    draft.copy(1);
    Ok(State::Next { comma })
}

/// `[{…}{…}]`: nothing else can stand between the two.
const ADJACENT: (Kind, Last, u8) = (Kind::Array, Last::Container(b'}'), b'{');

/// Whether the object that ended in the output at `written`, or the one that begins here, is empty: some begin with
/// `{}` what they then write.
fn has_empty_neighbour(draft: &Draft<'_>, written: usize) -> bool {
    let sent = draft.sent.unwrap_or_default().trim_end().strip_suffix('}');
    let before = match written {
        0 => sent.is_some_and(|object| object.trim_end().ends_with('{')),
        _ => draft.empty == Some(written),
    };
    let here = draft.from(draft.at + 1).trim_start_matches(char::is_whitespace);
    // Whether there is more behind a comment is not worth another look.
    before || here.starts_with(['}', '#', '\u{200b}', '\u{feff}'])
}

/// Whether a comma, and nothing else, is missing between a value that is no string and what begins here.
fn misses_comma(draft: &Draft<'_>, inside: Kind, last: Last, byte: u8) -> Result<bool, Unmended> {
    match (inside, last) {
        (Kind::Object, _) => key::follows(draft),
        // Never a sign: `[1 -2]` may be a difference.
        (Kind::Array, Last::Number) => Ok(byte.is_ascii_digit()),
        (Kind::Array, Last::Container(b'}' | b']')) => Ok(matches!(byte, b'{' | b'[')),
        _ => Ok(false),
    }
}

/// A string is followed by what cannot follow it: another string, the next key, or the rest of its own text.
fn behind_string(draft: &mut Draft<'_>, gap: Gap, inside: Kind, written: usize) -> Result<State, Unmended> {
    let at = draft.at;
    let bytes = draft.text.as_bytes();
    if gap.space
        && let Some(Ok(opening)) = literal::opening(draft.from(at).as_bytes())
    {
        let Some(end) = literal::end(bytes, at, opening) else {
            return Err(draft.ends_in_string(draft.base + at + opening.prefix));
        };
        let behind = draft.from(end).trim_start_matches([' ', '\n', '\r', '\t']);
        let Some(next) = behind.bytes().next() else {
            return Err(draft.ends());
        };
        if next == b':' && inside == Kind::Object && !draft.string.joined && !may_be_text(draft, opening) {
            if ends_in_escape(draft) {
                let message = "a comma is missing behind a line of a text that may go on in another string";
                draft.evidence.needs_json(at, message);
            }
            return missing_comma(draft, written);
        }
        let goes_on =
            next == b',' || next == inside.closer() || literal::opening(behind.as_bytes()).is_some();
        if goes_on && may_join(draft, gap, inside, opening) {
            if let Some(frame) = draft.frames.last_mut() {
                frame.joined = true;
            }
            string::join(draft, opening)?;
            return Ok(State::After(Last::String));
        }
    }
    reread(draft, inside)
}

/// Writes a comma behind the last value.
fn missing_comma(draft: &mut Draft<'_>, written: usize) -> Result<State, Unmended> {
    let rest = draft.from(draft.at);
    if let Some(Ok(opening)) = literal::opening(rest.as_bytes())
        && let Some(contents) = rest.get(opening.len()..)
        && contents
            .trim_start_matches([' ', '\n', '\r', '\t'])
            .starts_with(',')
    {
        return Err(draft.refuse(draft.at, "a comma is missing, and the key begins with one"));
    }
    draft.evidence.slip(draft.at);
    draft.fix(FixCode::MissingComma, draft.at, "a comma was inserted");
    draft.out.insert(written, ',');
    Ok(State::Next { comma: None })
}

/// Whether the last string and the key that begins with `opening` may be something else: a quote may have changed
/// places, `'a,' 'b': 1`, or all of it be one string, `'x = ' '.split(':')'`.
fn may_be_text(draft: &Draft<'_>, opening: Opening) -> bool {
    let ends = draft.before(draft.string.end).is_some_and(|last| {
        last.is_ascii_alphanumeric() || !last.is_ascii() || b")]}.!?;%/>*".contains(&last)
    });
    let key = draft.from(draft.at + opening.len()).chars().next();
    let begins = key.is_some_and(|first| {
        first.is_ascii_alphanumeric() || !first.is_ascii() || matches!(first, '_' | '$' | '@' | '-' | '\\')
    });
    !ends || !begins
}

/// Whether the last string ends in an escape: behind `'one line\n'`, the next line may be missing.
fn ends_in_escape(draft: &Draft<'_>) -> bool {
    // No escape is longer.
    let mut before = draft.backwards(draft.string.end).take(10);
    before.find(|next| !next.is_ascii_alphanumeric()) == Some('\\')
}

/// Whether two strings with nothing but a gap between them are one: in a list, more likely a comma is missing, and on
/// one line, the quotes between are text: `'cut -d ' ' -f 2'`.
fn may_join(draft: &Draft<'_>, gap: Gap, inside: Kind, opening: Opening) -> bool {
    let tuple = draft.frames.last().is_some_and(|frame| frame.comma);
    let kind = match inside {
        Kind::Object => true,
        Kind::Parentheses => !tuple,
        Kind::Array => false,
    };
    kind && gap.newline && !gap.comment && is_aligned(draft, draft.at + opening.prefix)
}

/// Whether the quote at `at`, the first on its line, stands below the quote of the last string, as Python's `pprint`
/// and those who format code put it; `'x = '\n'.join(y)'` has a line break between quotes, too.
fn is_aligned(draft: &Draft<'_>, at: usize) -> bool {
    let column = |before: &mut dyn Iterator<Item = char>| {
        before.take_while(|before| !matches!(before, '\n' | '\r')).count()
    };
    let here = draft.text.get(..at).unwrap_or_default();
    let here = column(&mut here.chars().rev());
    let began = draft.string.began;
    let Some(began) = began.checked_sub(draft.base) else {
        let sent = draft.sent.and_then(|sent| sent.get(..began));
        // No further than it takes to see that they are not.
        return sent.is_some_and(|sent| column(&mut sent.chars().rev().take(here + 1)) == here);
    };
    draft.sent.is_some() && column(&mut draft.backwards(began).take(here + 1)) == here
}

/// Takes the closing quote of the last string as text, if it can be nothing else.
fn reread(draft: &mut Draft<'_>, inside: Kind) -> Result<State, Unmended> {
    let (doubt, form) = (draft.string.end, draft.string.form);
    if inside == Kind::Parentheses || draft.string.joined || form.triple || form.raw {
        return Err(draft.refuse(draft.at, inside.misses_comma()));
    }
    let frames = &draft.frames;
    let closers = |level: usize| frames.iter().rev().nth(level).map(|frame| frame.kind.closer());
    let before = draft.sent.unwrap_or_default();
    let judged = match inner::judge(before, draft.text, form.quote, doubt, &closers) {
        Ok(judged) => judged,
        Err(Undecided::Ends) => return Err(draft.ends()),
        Err(Undecided::Uncertain) => return Err(ends_there(draft, inside)),
    };
    draft.evidence.guess(doubt);
    string::reread(draft, &judged.inner)?;
    if draft.string.end == judged.end {
        Ok(State::After(Last::String))
    } else {
        Err(draft.refuse(doubt, UNCERTAIN))
    }
}

const UNCERTAIN: &str = "a quote inside the string is not escaped, and where the string ends is not certain";

/// Why the text does not go on behind a string, whose closing quote cannot be taken as text either.
fn ends_there(draft: &Draft<'_>, inside: Kind) -> Unmended {
    let (at, quote) = (draft.at, draft.string.end);
    let rest = draft.from(at);
    let between = draft.text.get(quote + 1..at).unwrap_or_default();
    let (string, word) = if between.is_empty() {
        let closing = [':', ']', '}', ')', ';'];
        (rest.starts_with(['"', '\'']), !rest.starts_with(closing))
    } else {
        let word = rest.starts_with(char::is_alphanumeric) && !between.contains(['\n', '\r']);
        (literal::opening(rest.as_bytes()).is_some(), word)
    };
    if string {
        draft.refuse(at, SIDE_BY_SIDE)
    } else if word {
        draft.refuse(quote, UNCERTAIN)
    } else {
        draft.refuse(at, inside.misses_comma())
    }
}

const SIDE_BY_SIDE: &str =
    "two strings side by side: a comma between them is missing, or a backslash before a quote";
