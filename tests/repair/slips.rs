//! Tests with damaged texts: correct texts with random errors. The result must be the intended value or the original text. `cargo test -p
//! tests --test repair slips -- --nocapture` prints a report. `REPAIR_LONG=1` tests ten times the numbers below, of which a quarter is the
//! default. `REPAIR_SEED=7` generates other texts.

use std::fmt::Write as _;

use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::{FixCode, Repaired, Status, repair};

use crate::exact_json::{JsonValue, parse_json};
use crate::literal::read_python;
use crate::mutations::{slipped, with_raw_quotes, without_one};
use crate::random::{arguments, code, nasty_prose};
use crate::sloppy::sloppy;
use crate::written::{Style, json, repr, repr_in_single_quotes};

/// A text with its intended value and its result.
pub struct Slip {
    pub meant: JsonValue,
    before: String,
    after: String,
    /// Whether the error resulted in a plausible text with another meaning for every parser.
    pub undecidable: bool,
    /// Number of errors.
    slips: usize,
    /// Whether the text was between JSON and Python before the error, so that no strict parser can be compared.
    sloppy: bool,
}

impl Slip {
    /// Texts with a single error that a parser could detect.
    pub fn new(meant: JsonValue, before: String, after: String) -> Self {
        Self {
            meant,
            before,
            after,
            undecidable: false,
            slips: 1,
            sloppy: false,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// The result is the intended value.
    Right,
    /// The result is the original text.
    Unchanged,
    /// The error resulted in other valid JSON.
    StillValid,
    /// The error resulted in a Python literal with another meaning, which is the result.
    PythonAgrees,
    /// The result is a wrong value that no parser could detect, since its reading has fewer errors than the intended one.
    Undecidable,
    Wrong,
}

fn judge(slip: &Slip) -> Verdict {
    let repaired = repair(&slip.after);
    let value = parse_json(&repaired.text);
    let shown = || format!("{} became {}", slip.after, repaired.text);
    match repaired.status {
        Status::Truncated | Status::Refused => {
            assert_eq!(repaired.text, slip.after, "what is not repaired stays as it was");
            let reason = repaired.reason.as_ref().expect("a refusal has a reason");
            assert!(
                slip.after.is_char_boundary(reason.offset),
                "{}: {reason:?}",
                slip.after
            );
            assert!(value.is_none(), "JSON was refused: {}", slip.after);
            return Verdict::Unchanged;
        }
        Status::Valid => assert_eq!(repaired.text, slip.after, "JSON stays as it was"),
        _ => {
            assert!(parse_json(&slip.after).is_none(), "JSON was changed: {}", shown());
            assert!(!repaired.fixes.is_empty(), "changed in silence: {}", shown());
        }
    }
    assert!(value.is_some(), "no JSON came back: {}", shown());
    if value.as_ref() == Some(&slip.meant) {
        Verdict::Right
    } else if repaired.status == Status::Valid {
        Verdict::StillValid
    } else if read_python(&slip.after) == value && !is_joined(&repaired) {
        Verdict::PythonAgrees
    } else if slip.undecidable || (slip.slips > 1 || slip.sloppy) && guesses(slip, &repaired) < slip.slips {
        Verdict::Undecidable
    } else {
        Verdict::Wrong
    }
}

/// Returns whether strings were joined. Python also joins strings whose quotes are not escaped, `'x = ' '.join(a)'`.
fn is_joined(repaired: &Repaired<'_>) -> bool {
    repaired
        .fixes
        .counts()
        .any(|(code, _)| code == FixCode::ConcatenatedStrings)
}

/// Returns the number of errors in the resulting reading; 0 for a valid JSON or Python text.
fn guesses(slip: &Slip, repaired: &Repaired<'_>) -> usize {
    let count = |(code, count)| match code {
        FixCode::SingleQuotes
        | FixCode::StringPrefix
        | FixCode::PythonLiteral
        | FixCode::PythonNumber
        | FixCode::PythonEscape
        | FixCode::TripleQuotes
        | FixCode::ConcatenatedStrings
        | FixCode::Tuple
        | FixCode::Parentheses
        | FixCode::UnquotedKey
        | FixCode::OddSpace
        | FixCode::TrailingComma
        | FixCode::Packaging
        | FixCode::TextBefore
        | FixCode::TextAfter => 0,
        // There were some before.
        FixCode::Comment | FixCode::ControlCharacter if slip.sloppy => 0,
        // A string over several lines that lost its quotes.
        FixCode::ControlCharacter => 1,
        _ => count,
    };
    repaired.fixes.counts().map(count).sum()
}

/// Tests `count` errors (a quarter by default), and checks the number of wrong values against `bound`.
pub fn hold(name: &str, count: usize, bound: usize, mut slip: impl FnMut(&mut Random) -> Option<Slip>) {
    let count = if long() { count * 10 } else { count / 4 };
    let seed = std::env::var("REPAIR_SEED").map_or(0, |seed| seed.parse().expect("a seed is a number"));
    let mut random = Random::new(name.bytes().map(u64::from).sum::<u64>() ^ seed << 32);
    let mut tally = [0; 6];
    let mut shown = String::new();
    let mut tried = 0;
    while tried < count {
        let Some(slip) = slip(&mut random) else { continue };
        tried += 1;
        let verdict = judge(&slip);
        tally[verdict as usize] += 1;
        if verdict == Verdict::Wrong && tally[verdict as usize] <= 20 {
            let repaired = repair(&slip.after);
            let fixes: Vec<String> = repaired
                .fixes
                .first()
                .iter()
                .map(|fix| format!("{}@{}", fix.code.as_str(), fix.offset))
                .collect();
            let _ = writeln!(
                shown,
                "\nbefore  {}\nafter   {}\nbecame  {}\nby      {}",
                slip.before,
                slip.after,
                repaired.text,
                fixes.join(" ")
            );
        }
    }
    let [right, unchanged, valid, python, undecidable, wrong] = tally;
    println!(
        "| {name} | {count} | {right} right | {unchanged} unchanged | {valid} still valid | {python} Python agrees \
         | {undecidable} undecidable | {wrong} wrong |"
    );
    assert!(
        wrong <= bound * count.div_ceil(9000),
        "{name}: {wrong} of {count} were damaged; a refusal is always allowed:\n{shown}"
    );
    if wrong > 0 {
        println!("{shown}");
    }
}

/// Generates a correct text: JSON in any style, or Python's `repr`.
pub fn written(meant: &JsonValue, random: &mut Random) -> String {
    match random.below(8) {
        0 => repr(meant, true),
        1..=3 => repr(meant, false),
        4 => json(meant, Style::Pretty, random),
        5 => json(meant, Style::Compact, random),
        6 => json(meant, Style::Odd, random),
        _ => json(meant, Style::Spaced, random),
    }
}

/// Errors in a correct text.
fn structural(slips: usize) -> impl FnMut(&mut Random) -> Option<Slip> {
    slipping(slips, false, written)
}

/// Errors in a sloppy text, without parentheses, since `(1)` is not a tuple and `('a' 'b')` is one string.
fn in_sloppy_text(slips: usize) -> impl FnMut(&mut Random) -> Option<Slip> {
    slipping(slips, true, |meant, random| self::sloppy(meant, false, random))
}

fn slipping(
    slips: usize,
    is_sloppy: bool,
    write: fn(&JsonValue, &mut Random) -> String,
) -> impl FnMut(&mut Random) -> Option<Slip> {
    move |random| {
        let meant = arguments(random);
        let before = write(&meant, random);
        let after = slipped(&before, slips, random);
        Some(Slip {
            slips,
            undecidable: false,
            meant,
            before,
            after,
            sloppy: is_sloppy,
        })
    }
}

#[test]
fn one_structural_slip() {
    hold("1 structural slip", 9000, 0, structural(1));
}

#[test]
fn two_structural_slips() {
    hold("2 structural slips", 9000, 0, structural(2));
}

#[test]
fn three_structural_slips() {
    hold("3 structural slips", 9000, 2, structural(3));
}

#[test]
fn one_slip_in_sloppy_text() {
    // A comma that became `#` before a key without quotes starts a comment.
    hold("1 slip in sloppy text", 9000, 1, in_sloppy_text(1));
}

#[test]
fn two_slips_in_sloppy_text() {
    hold("2 slips in sloppy text", 9000, 2, in_sloppy_text(2));
}

fn raw_quotes(quote: char, values: fn(&mut Random) -> JsonValue) -> impl FnMut(&mut Random) -> Option<Slip> {
    move |random| {
        let meant = values(random);
        let before = if quote == '"' {
            json(&meant, *random.pick(&Style::ALL), random)
        } else {
            repr_in_single_quotes(&meant)
        };
        let after = with_raw_quotes(&before, quote, random)?;
        Some(Slip {
            slips: 1,
            undecidable: is_more_than_one(&meant, quote),
            meant,
            before,
            after,
            sloppy: false,
        })
    }
}

/// Returns whether a string splits into several strings without escapes: `', '` contains two empty strings.
pub fn is_more_than_one(meant: &JsonValue, quote: char) -> bool {
    match meant {
        JsonValue::String(units) => {
            let text = String::from_utf16_lossy(units).replace(char::is_control, " ");
            let read = read_python(&format!("[{quote}{text}{quote}]"));
            text.contains(quote)
                && read.is_some_and(|it| !matches!(it, JsonValue::Array(items) if items.len() == 1))
        }
        JsonValue::Array(items) => items.iter().any(|item| is_more_than_one(item, quote)),
        JsonValue::Object(entries) => entries.iter().any(|(_, value)| is_more_than_one(value, quote)),
        _ => false,
    }
}

#[test]
fn raw_double_quotes_in_code() {
    hold("raw `\"` in code", 792, 0, raw_quotes('"', code));
}

#[test]
fn raw_single_quotes_in_code() {
    hold("raw `'` in code", 351, 0, raw_quotes('\'', code));
}

#[test]
fn raw_double_quotes_in_nasty_prose() {
    hold("raw `\"` in nasty prose", 20_000, 0, raw_quotes('"', nasty_prose));
}

#[test]
fn raw_single_quotes_in_nasty_prose() {
    hold("raw `'` in nasty prose", 20_000, 0, raw_quotes('\'', nasty_prose));
}

/// Deletes one of these characters anywhere, also in strings.
fn deleted(
    characters: &'static [u8],
    undecidable: fn(&str, usize) -> bool,
) -> impl FnMut(&mut Random) -> Option<Slip> {
    move |random| {
        let meant = arguments(random);
        let before = written(&meant, random);
        let (after, place) = without_one(&before, characters, random)?;
        Some(Slip {
            slips: 1,
            undecidable: undecidable(&before, place),
            meant,
            before,
            after,
            sloppy: false,
        })
    }
}

#[test]
fn a_backslash_deleted() {
    // `\\'` became `\'`, which is an escape in both kinds of Python strings, or `\\/` became `\/`, which is an escape in JSON.
    let undecidable = |before: &str, place: usize| {
        let before = before.as_bytes();
        [place, place.saturating_sub(1)].iter().any(|from| {
            let from = &before[*from..];
            from.starts_with(br"\\'") || from.starts_with(br"\\/")
        })
    };
    hold("one `\\` deleted anywhere", 2180, 0, deleted(b"\\", undecidable));
}

#[test]
fn a_double_quote_deleted() {
    // `\"X` became `\X`, where the backslash does not begin an escape.
    let undecidable = |before: &str, place: usize| before[..place].ends_with('\\');
    hold("one `\"` deleted anywhere", 6963, 0, deleted(b"\"", undecidable));
}

#[test]
fn a_comma_deleted() {
    hold("one `,` deleted anywhere", 8880, 0, deleted(b",", |_, _| false));
}

#[test]
fn a_bracket_a_colon_or_a_single_quote_deleted() {
    hold(
        "one of `' : { } [ ]` deleted anywhere",
        26_008,
        0,
        deleted(b"':{}[]", |_, _| false),
    );
}

#[test]
fn cut_off_anywhere() {
    hold("cut off anywhere", 9000, 0, |random| {
        let meant = arguments(random);
        let before = written(&meant, random);
        let mut end = random.below(before.trim_end().len());
        while !before.is_char_boundary(end) {
            end -= 1;
        }
        let after = before[..end].to_owned();
        assert_ne!(repair(&after).status, Status::Valid, "{after}");
        Some(Slip {
            slips: 1,
            // No value is correct.
            meant: JsonValue::String(Vec::new()),
            before,
            after,
            undecidable: false,
            sloppy: false,
        })
    });
}
