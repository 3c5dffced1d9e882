//! The tests that find damage: texts that were right until something slipped. Whatever comes back is what was meant,
//! or what was sent. `cargo test -p tests --test repair slips -- --nocapture` prints a report; `REPAIR_LONG=1` tries
//! ten times the figures below, a quarter of which is the default; `REPAIR_SEED=7` draws others.

use std::fmt::Write as _;

use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::{FixCode, Repaired, Status, repair};

use crate::judge::{Tree, read_json};
use crate::literal::read_python;
use crate::mutations::{slipped, with_raw_quotes, without_one};
use crate::random::{arguments, code, nasty_prose};
use crate::sloppy::sloppy;
use crate::written::{Style, json, repr, repr_in_single_quotes};

/// A text, what it said, and what became of it.
pub struct Slip {
    pub meant: Tree,
    before: String,
    after: String,
    /// Whether the slip made a text that means something else to every reader, and is in no way odd.
    pub undecidable: bool,
    /// Number of slips.
    slips: usize,
    /// Whether it was between JSON and Python already, so that no reader of one of them can be asked.
    sloppy: bool,
}

impl Slip {
    /// A single one, which a reader could have seen.
    pub fn new(meant: Tree, before: String, after: String) -> Self {
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
    /// The intended value came back.
    Right,
    /// The original text came back.
    Unchanged,
    /// The slip made other JSON.
    StillValid,
    /// The slip made a Python literal that says something else, and that came back.
    PythonAgrees,
    /// Something else came back, and no reader could have known: it takes fewer slips than what was meant.
    Undecidable,
    Wrong,
}

fn judge(slip: &Slip) -> Verdict {
    let repaired = repair(&slip.after);
    let says = read_json(&repaired.text);
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
            assert!(says.is_none(), "JSON was refused: {}", slip.after);
            return Verdict::Unchanged;
        }
        Status::Valid => assert_eq!(repaired.text, slip.after, "JSON stays as it was"),
        _ => {
            assert!(read_json(&slip.after).is_none(), "JSON was changed: {}", shown());
            assert!(!repaired.fixes.is_empty(), "changed in silence: {}", shown());
        }
    }
    assert!(says.is_some(), "no JSON came back: {}", shown());
    if says.as_ref() == Some(&slip.meant) {
        Verdict::Right
    } else if repaired.status == Status::Valid {
        Verdict::StillValid
    } else if read_python(&slip.after) == says && !is_joined(&repaired) {
        Verdict::PythonAgrees
    } else if slip.undecidable || (slip.slips > 1 || slip.sloppy) && guesses(slip, &repaired) < slip.slips {
        Verdict::Undecidable
    } else {
        Verdict::Wrong
    }
}

/// Whether strings became one: Python says so too of a string whose quotes are not escaped, `'x = ' '.join(a)'`.
fn is_joined(repaired: &Repaired<'_>) -> bool {
    repaired
        .fixes
        .counts()
        .any(|(code, _)| code == FixCode::ConcatenatedStrings)
}

/// Number of slips in the reading that came back; a reading by the grammar of JSON or Python has none.
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
        // Of one string whose quotes were lost, over lines.
        FixCode::ControlCharacter => 1,
        _ => count,
    };
    repaired.fixes.counts().map(count).sum()
}

/// Tries `count` slips (a quarter of them unless asked for more) and holds what becomes wrong to `bound`.
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

/// A right text: JSON in some style, or a repr.
pub fn written(meant: &Tree, random: &mut Random) -> String {
    match random.below(8) {
        0 => repr(meant, true),
        1..=3 => repr(meant, false),
        4 => json(meant, Style::Pretty, random),
        5 => json(meant, Style::Compact, random),
        6 => json(meant, Style::Odd, random),
        _ => json(meant, Style::Spaced, random),
    }
}

/// Slips in a right text.
fn structural(slips: usize) -> impl FnMut(&mut Random) -> Option<Slip> {
    slipping(slips, false, written)
}

/// Slips in a text that was already sloppy; without parentheses, since `(1)` is no tuple and `('a' 'b')` is one string.
fn in_sloppy_text(slips: usize) -> impl FnMut(&mut Random) -> Option<Slip> {
    slipping(slips, true, |meant, random| self::sloppy(meant, false, random))
}

fn slipping(
    slips: usize,
    is_sloppy: bool,
    write: fn(&Tree, &mut Random) -> String,
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
    // A comma that became `#` before a key without quotes makes a comment of it.
    hold("1 slip in sloppy text", 9000, 1, in_sloppy_text(1));
}

#[test]
fn two_slips_in_sloppy_text() {
    hold("2 slips in sloppy text", 9000, 2, in_sloppy_text(2));
}

fn raw_quotes(quote: char, values: fn(&mut Random) -> Tree) -> impl FnMut(&mut Random) -> Option<Slip> {
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

/// Whether a string in it becomes several where its quotes are not escaped: `', '` is two empty ones.
pub fn is_more_than_one(meant: &Tree, quote: char) -> bool {
    match meant {
        Tree::Text(units) => {
            let text = String::from_utf16_lossy(units).replace(char::is_control, " ");
            let read = read_python(&format!("[{quote}{text}{quote}]"));
            text.contains(quote)
                && read.is_some_and(|it| !matches!(it, Tree::List(items) if items.len() == 1))
        }
        Tree::List(items) => items.iter().any(|item| is_more_than_one(item, quote)),
        Tree::Map(entries) => entries.iter().any(|(_, value)| is_more_than_one(value, quote)),
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

/// One of these characters deleted anywhere, also in strings.
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
    // `\\'` became `\'`, which Python knows in both kinds of quotes, or `\\/` became `\/`, which JSON knows.
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
    // `\"X` became `\X`, a backslash that begins no escape.
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
            // Nothing is right.
            meant: Tree::Text(Vec::new()),
            before,
            after,
            undecidable: false,
            sloppy: false,
        })
    });
}
