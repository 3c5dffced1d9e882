//! Edits of real files through inexact quotes: the result is the one of the exact quote, or the file is unchanged.
//!
//! `EDIT_CASES=FILE` writes the cases for `benches/peers/edits.mjs`, which makes the same edits with other tools.

use std::fmt;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::folder::TestFolder;

/// Number of cases; `EDIT_LONG=1` has ten times as many, and `EDIT_SEED` others.
const CASES: usize = 2_000;

/// Random numbers (`SplitMix64`) from a fixed seed, so that a failure is repeated.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    fn pick<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

/// Form in which a file of the repository is stored.
#[derive(Debug, Clone, Copy)]
enum Form {
    Same,
    Crlf,
    MixedEndings,
    LoneCr,
    Bom,
    Utf16Le,
    Utf16Be,
    Tabs,
    BlanksAtEnds,
    NoLastLineFeed,
    Curly,
}

const FORMS: [Form; 11] = [
    Form::Same,
    Form::Crlf,
    Form::MixedEndings,
    Form::LoneCr,
    Form::Bom,
    Form::Utf16Le,
    Form::Utf16Be,
    Form::Tabs,
    Form::BlanksAtEnds,
    Form::NoLastLineFeed,
    Form::Curly,
];

impl Form {
    fn text(self, text: &str, random: &mut Random) -> String {
        match self {
            Self::Crlf => text.replace('\n', "\r\n"),
            Self::MixedEndings => {
                let lines = text.split_inclusive('\n');
                lines
                    .map(|line| match random.below(3) {
                        0 => line.replace('\n', "\r\n"),
                        _ => line.to_owned(),
                    })
                    .collect()
            }
            Self::LoneCr => text.replacen(", ", ",\r", 20),
            Self::Tabs => each_line(text, |line| {
                let content = line.trim_start_matches(' ');
                let spaces = line.len() - content.len();
                "\t".repeat(spaces / 4) + &" ".repeat(spaces % 4) + content
            }),
            Self::BlanksAtEnds => each_line(text, |line| match random.below(3) {
                0 => format!("{line}  "),
                1 => format!("{line}\t"),
                _ => line.to_owned(),
            }),
            Self::NoLastLineFeed => text.trim_end_matches('\n').to_owned(),
            Self::Curly => each_line(text, |line| match random.below(2) {
                0 => curly(line),
                _ => line.to_owned(),
            }),
            Self::Same | Self::Bom | Self::Utf16Le | Self::Utf16Be => text.to_owned(),
        }
    }

    fn bytes(self, text: &str) -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        match self {
            Self::Bom => format!("\u{feff}{text}").into_bytes(),
            Self::Utf16Le => units.flat_map(u16::to_le_bytes).collect(),
            Self::Utf16Be => units.flat_map(u16::to_be_bytes).collect(),
            _ => text.as_bytes().to_vec(),
        }
    }
}

/// Way in which a quote differs from the file.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Slip {
    None,
    StrippedEnds,
    AddedEnds,
    Straight,
    Curly,
    NoBreakSpace,
    Dedented,
    PartlyDedented,
    Indented,
    Spaces(usize),
    Tabs(usize),
    Numbers,
    NumbersAndLineFeed,
    Crlf,
    OldDedented,
    NumbersInOld,
    /// Only the old text has a line feed at its end.
    NumbersAndOldLineFeed,
    /// A quoted line is blank after its number.
    NumbersOfLostLine,
    WrongWord,
    Case,
    EndsAndDedented,
}

const SLIPS: [Slip; 26] = [
    Slip::None,
    Slip::StrippedEnds,
    Slip::AddedEnds,
    Slip::Straight,
    Slip::Curly,
    Slip::NoBreakSpace,
    Slip::Dedented,
    Slip::PartlyDedented,
    Slip::Indented,
    Slip::Spaces(2),
    Slip::Spaces(4),
    Slip::Spaces(8),
    Slip::Tabs(2),
    Slip::Tabs(4),
    Slip::Tabs(8),
    Slip::Numbers,
    Slip::NumbersAndLineFeed,
    Slip::Crlf,
    Slip::OldDedented,
    Slip::NumbersInOld,
    Slip::NumbersAndOldLineFeed,
    // Twice: a lost line at the end of the quote is the one that a comparison of texts overlooks.
    Slip::NumbersOfLostLine,
    Slip::NumbersOfLostLine,
    Slip::WrongWord,
    Slip::Case,
    Slip::EndsAndDedented,
];

impl Slip {
    /// Returns whether an inexact quote has one reading: the difference is of one kind and in both texts, whatever is written is
    /// certain, and no other place of the file is similar.
    fn has_one_reading(self, view: &str, edit: &ExactEdit, new: &str) -> bool {
        let is_of_both = !matches!(
            self,
            Self::OldDedented | Self::NumbersInOld | Self::WrongWord | Self::Case | Self::EndsAndDedented
        ) && !self.must_be_refused();
        let changed = |text: &str, other: &str| -> String {
            let others: Vec<&str> = other.split('\n').collect();
            let lines = text.split('\n').filter(|line| !others.contains(line));
            lines.collect::<Vec<_>>().join("\n")
        };
        let is_sign = |sign: char| "’‘“”–—\u{a0}".contains(sign);
        let has_signs = changed(&edit.old, &edit.new).contains(is_sign)
            || changed(new, &edit.old).contains(is_sign) && matches!(self, Self::Curly | Self::NoBreakSpace);
        let is_typographic = matches!(self, Self::Curly | Self::Straight | Self::NoBreakSpace);
        let folded =
            |text: &str| -> Vec<String> { text.split('\n').map(|line| straight(line.trim())).collect() };
        let (file, quote) = (folded(view), folded(&edit.old));
        let places = file
            .windows(quote.len())
            .filter(|window| *window == quote)
            .count();
        let filled = quote.iter().filter(|line| !line.is_empty()).count();
        is_of_both && !(is_typographic && has_signs) && places == 1 && (filled > 1 || quote.len() == 1)
    }

    /// Returns whether the numbered lines are not the file's lines, or do not say how the new text ends.
    fn must_be_refused(self) -> bool {
        matches!(self, Self::NumbersAndOldLineFeed | Self::NumbersOfLostLine)
    }

    fn apply(self, edit: &ExactEdit, random: &mut Random) -> (String, String) {
        let (old, new) = (edit.old.as_str(), edit.new.as_str());
        let both = |change: &mut dyn FnMut(&str) -> String| (change(old), change(new));
        let indentation = common_indentation(&[old, new]);
        match self {
            Self::None => (old.to_owned(), new.to_owned()),
            Self::StrippedEnds => {
                both(&mut |text| each_line(text, |line| line.trim_end_matches([' ', '\t']).to_owned()))
            }
            Self::AddedEnds => both(&mut |text| each_line(text, |line| format!("{line}  "))),
            Self::Straight => both(&mut straight),
            Self::Curly => both(&mut curly),
            Self::NoBreakSpace => both(&mut |text| text.replacen(" the ", "\u{a0}the ", 1)),
            Self::Dedented => both(&mut |text| dedented(text, indentation)),
            Self::PartlyDedented => both(&mut |text| dedented(text, indentation.div_ceil(2))),
            Self::Indented => both(&mut |text| each_filled_line(text, |line| format!("   {line}"))),
            Self::Spaces(width) => both(&mut |text| each_line(text, |line| with_spaces(line, width))),
            Self::Tabs(width) => both(&mut |text| each_line(text, |line| with_tabs(line, width))),
            Self::Numbers => both(&mut |text| numbered(text, edit.first)),
            Self::NumbersAndLineFeed => both(&mut |text| numbered(text, edit.first) + "\n"),
            Self::NumbersInOld => (numbered(old, edit.first), new.to_owned()),
            Self::NumbersAndOldLineFeed => (numbered(old, edit.first) + "\n", numbered(new, edit.first)),
            Self::NumbersOfLostLine => {
                let lines: Vec<&str> = old.split('\n').collect();
                let filled: Vec<&str> = lines.into_iter().filter(|line| !line.is_empty()).collect();
                let lost = [random.pick(&filled), filled[filled.len() - 1]];
                let lost = random.pick(&lost);
                both(&mut |text| {
                    let lines = text.split('\n').map(|line| if line == lost { "" } else { line });
                    numbered(&lines.collect::<Vec<_>>().join("\n"), edit.first)
                })
            }
            Self::Crlf => both(&mut |text| text.replace('\n', "\r\n")),
            Self::OldDedented => (dedented(old, indentation), new.to_owned()),
            Self::WrongWord => {
                let words: Vec<&str> = old.split(' ').collect();
                let word = random.pick(&words);
                let slip = |text: &str| text.replacen(word, &format!("{word}s"), 1);
                (slip(old), slip(new))
            }
            Self::Case => both(&mut |text| text.to_uppercase()),
            Self::EndsAndDedented => {
                both(&mut |text| each_line(&dedented(text, indentation), |line| format!("{line} ")))
            }
        }
    }
}

fn each_line(text: &str, mut change: impl FnMut(&str) -> String) -> String {
    let lines = text.split('\n').map(|line| match line.strip_suffix('\r') {
        Some(content) => change(content) + "\r",
        None => change(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn each_filled_line(text: &str, mut change: impl FnMut(&str) -> String) -> String {
    each_line(text, |line| {
        if line.trim().is_empty() {
            line.to_owned()
        } else {
            change(line)
        }
    })
}

fn blanks(line: &str) -> &str {
    &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
}

/// Returns the length of the blanks with which all filled lines begin. Lines that begin with different blanks have no common prefix: without it, no
/// tool could find out which blanks were lost.
fn common_indentation(texts: &[&str]) -> usize {
    let lines = texts.iter().flat_map(|text| text.split('\n'));
    let filled = lines.filter(|line| !line.trim().is_empty());
    let common = filled.map(blanks).reduce(|common, own| {
        let pairs = common.bytes().zip(own.bytes());
        &common[..pairs.take_while(|(common, own)| common == own).count()]
    });
    common.map_or(0, str::len)
}

fn dedented(text: &str, count: usize) -> String {
    each_filled_line(text, |line| line[count..].to_owned())
}

fn with_spaces(line: &str, width: usize) -> String {
    let own = blanks(line);
    own.replace('\t', &" ".repeat(width)) + &line[own.len()..]
}

fn with_tabs(line: &str, width: usize) -> String {
    let own = blanks(line);
    own.replace(&" ".repeat(width), "\t") + &line[own.len()..]
}

fn numbered(text: &str, first: usize) -> String {
    let lines = text.split('\n').enumerate();
    let lines = lines.map(|(at, line)| format!("{}\t{line}", first + at));
    lines.collect::<Vec<_>>().join("\n")
}

fn curly(text: &str) -> String {
    text.replace('\'', "’")
        .replacen('"', "“", 1)
        .replace('"', "”")
        .replace(" - ", " – ")
}

fn straight(text: &str) -> String {
    text.replace(['’', '‘'], "'")
        .replace(['“', '”'], "\"")
        .replace(['–', '—'], "-")
}

/// An edit whose quote is exactly once in the file.
#[derive(Debug)]
struct ExactEdit {
    old: String,
    new: String,
    /// First quoted line, from 1.
    first: usize,
}

impl ExactEdit {
    /// Changes a word, or adds, removes or changes lines, in some lines of a file.
    fn random(view: &str, random: &mut Random) -> Option<Self> {
        let lines: Vec<&str> = view.split('\n').collect();
        let first = random.below(lines.len());
        let count = 1 + random.below(6);
        let quoted = lines.get(first..first + count)?;
        let old = quoted.join("\n");
        // Occurrences may overlap.
        let second = view.find(&old)? + old.chars().next().map_or(1, char::len_utf8);
        if !old.chars().any(char::is_alphanumeric) || view[second..].contains(&old) {
            return None;
        }
        let mut new: Vec<String> = quoted.iter().map(|line| (*line).to_owned()).collect();
        let at = random.below(count);
        let is_filled = |line: &str| line.chars().any(char::is_alphanumeric);
        match random.below(6) {
            0 => new.insert(at, format!("{}added();", blanks(quoted[at]))),
            1 if count > 1 => drop(new.remove(at)),
            2 if count > 2 && is_filled(quoted[0]) && is_filled(quoted[count - 1]) => {
                new[0] = with_other_word(quoted[0]);
                new[count - 1] = with_other_word(quoted[count - 1]);
            }
            3 if is_filled(quoted[at]) => {
                new[at] = with_other_word(quoted[at]);
                new.insert(at, format!("{}added(1);", blanks(quoted[at])));
            }
            _ if is_filled(quoted[at]) => new[at] = with_other_word(quoted[at]),
            _ => return None,
        }
        let new = new.join("\n");
        (new != old).then_some(Self {
            old,
            new,
            first: first + 1,
        })
    }
}

/// Replaces the first word of a line.
fn with_other_word(line: &str) -> String {
    let start = line.find(char::is_alphanumeric).unwrap();
    let rest = &line[start..];
    let length = rest
        .find(|sign: char| !sign.is_alphanumeric())
        .unwrap_or(rest.len());
    format!("{}other{}", &line[..start], &rest[length..])
}

/// Returns the sources and documents of the repository.
fn sources() -> Vec<PathBuf> {
    fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<PathBuf> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if !name.starts_with('.') && name != "target" && name != "node_modules" {
                    collect(&path, found);
                }
            } else if [".rs", ".md", ".toml", ".py", ".json", ".mjs"]
                .iter()
                .any(|end| name.ends_with(end))
                && fs::metadata(&path).is_ok_and(|file| file.len() < 16_000 && file.len() > 200)
            {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    collect(
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap(),
        &mut found,
    );
    found
}

fn arguments(old: &str, new: &str) -> Value {
    json!({ "file_path": "f", "old_string": old, "new_string": new })
}

#[derive(Default)]
struct Counts {
    applied: usize,
    refused: usize,
    one_reading: usize,
    one_reading_applied: usize,
}

impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            applied,
            refused,
            one_reading,
            one_reading_applied,
        } = self;
        write!(
            f,
            "{applied} applied, {refused} refused, 0 wrong; of {one_reading} with one reading {one_reading_applied} applied"
        )
    }
}

/// Returns the bytes of a file after an edit, or `None` and the message if the edit was refused.
async fn edited(folder: &TestFolder, bytes: &[u8], old: &str, new: &str) -> Result<Vec<u8>, String> {
    folder.write("f", bytes);
    folder.call("Read", json!({ "file_path": "f" })).await;
    let answer = folder.call("Edit", arguments(old, new)).await;
    let after = folder.bytes("f");
    if answer.0.result.is_error {
        assert_eq!(after, bytes, "a refused edit changed the file: {}", answer.text());
        return Err(answer.text().to_owned());
    }
    Ok(after)
}

/// Checks that only the quoted lines changed.
fn assert_other_lines_are_equal(edit: &ExactEdit, before: &str, after: &str) {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let count = edit.old.split('\n').count();
    let head: String = lines[..edit.first - 1].concat();
    let tail: String = lines[(edit.first - 1 + count).min(lines.len())..].concat();
    assert!(after.starts_with(&head) && after.ends_with(&tail), "{edit:?}");
}

/// A file that receives a line of JSON for each case, if `EDIT_CASES` names a file.
struct RecordedCases(Option<fs::File>);

impl RecordedCases {
    fn create() -> Self {
        Self(std::env::var_os("EDIT_CASES").map(|path| fs::File::create(path).unwrap()))
    }

    /// Writes a case with the bytes of the file before and after the exact edit. `applied` states whether this edit was applied.
    fn write(&mut self, [old, new]: [&str; 2], [before, after]: [&[u8]; 2], is_exact: bool, applied: bool) {
        let Some(file) = &mut self.0 else { return };
        let [before, after] = [before, after].map(|bytes| STANDARD.encode(bytes));
        let case = json!({ "old": old, "new": new, "before": before, "after": after, "is_exact": is_exact, "applied": applied });
        writeln!(file, "{case}").unwrap();
    }
}

/// Returns the texts of the sources that have only line feeds.
fn texts() -> Vec<String> {
    let texts = sources()
        .into_iter()
        .filter_map(|path| fs::read_to_string(path).ok());
    texts.filter(|text| !text.contains('\r')).collect()
}

#[tokio::test]
async fn inexact_quote_has_the_result_of_the_exact_one() {
    let is_long = std::env::var_os("EDIT_LONG").is_some();
    let cases = if is_long { CASES * 10 } else { CASES };
    let sources = texts();
    let folder = TestFolder::new();
    let seed = std::env::var("EDIT_SEED").ok().and_then(|seed| seed.parse().ok());
    let random = &mut Random(seed.unwrap_or(36));
    let mut counts = Counts::default();
    let mut refusals = std::collections::BTreeMap::<String, usize>::new();
    let mut recorded = RecordedCases::create();
    let mut case = 0;
    let mut ends_in_bare_number = 0;
    while case < cases {
        let form = random.pick(&FORMS);
        let source = &sources[random.below(sources.len())];
        let text = form.text(source, random);
        let view = text.replace("\r\n", "\n");
        let Some(edit) = ExactEdit::random(&view, random) else {
            continue;
        };
        let slip = random.pick(&SLIPS);
        let (old, new) = slip.apply(&edit, random);
        if old == new {
            continue;
        }
        case += 1;
        let bytes = form.bytes(&text);
        let exact = edited(&folder, &bytes, &edit.old, &edit.new).await.unwrap();
        let expected_view = view.replacen(&edit.old, &edit.new, 1);
        assert_eq!(
            decoded(&exact).replace("\r\n", "\n"),
            expected_view,
            "{form:?} {edit:?}"
        );
        assert_other_lines_are_equal(&edit, &text, &decoded(&exact));
        // A deleted last line is deleted with its own ending.
        let line_feed = if slip == Slip::NumbersAndLineFeed {
            "\n"
        } else {
            ""
        };
        let [whole_old, whole_new] = [&edit.old, &edit.new].map(|text| format!("{text}{line_feed}"));
        let exact = if view.contains(&whole_old) {
            edited(&folder, &bytes, &whole_old, &whole_new).await.unwrap()
        } else {
            exact
        };
        let sent = old.replace("\r\n", "\n");
        let is_exact = view.contains(&sent);
        let has_one_reading = !is_exact && slip.has_one_reading(&view, &edit, &new);
        counts.one_reading += usize::from(has_one_reading);
        let result = edited(&folder, &bytes, &old, &new).await;
        let after = result.as_ref().unwrap_or(&exact);
        recorded.write([&old, &new], [&bytes, after], is_exact, result.is_ok());
        match result {
            Err(message) => {
                counts.refused += 1;
                if has_one_reading {
                    let kind: String = message
                        .chars()
                        .skip_while(|sign| *sign != ':')
                        .take(400)
                        .collect();
                    *refusals.entry(format!("{slip:?} {kind}")).or_default() += 1;
                }
            }
            Ok(result) => {
                assert!(
                    is_exact || !slip.must_be_refused(),
                    "{form:?} {slip:?} {edit:?}\nold: {old:?}\nnew: {new:?}"
                );
                ends_in_bare_number += usize::from(slip == Slip::Numbers && old.ends_with('\t'));
                counts.applied += 1;
                counts.one_reading_applied += usize::from(has_one_reading);
                if is_exact {
                    // The inexact quote is an exact one, which is applied to the letter.
                    let new = new.replace("\r\n", "\n");
                    assert_eq!(
                        decoded(&result).replace("\r\n", "\n"),
                        view.replacen(&sent, &new, 1)
                    );
                } else {
                    assert_eq!(
                        decoded(&result),
                        decoded(&exact),
                        "{form:?} {slip:?} {edit:?}\nold: {old:?}\nnew: {new:?}"
                    );
                    assert_eq!(result, exact);
                }
            }
        }
    }
    println!("{counts}");
    if std::env::var_os("EDIT_REFUSALS").is_some() {
        for (kind, count) in refusals {
            println!("{count} {kind}");
        }
    }
    assert!(ends_in_bare_number > 0, "no numbered quote ended in a blank line");
    let share = counts.one_reading_applied * 100 / counts.one_reading;
    assert!(share >= 93, "{share} %: {counts}");
}

fn decoded(bytes: &[u8]) -> String {
    let units = |unit: fn([u8; 2]) -> u16| {
        let pairs = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
        String::from_utf16(&pairs.collect::<Vec<_>>()).unwrap()
    };
    match bytes {
        [0xff, 0xfe, ..] => units(u16::from_le_bytes),
        [0xfe, 0xff, ..] => units(u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).unwrap(),
        _ => String::from_utf8(bytes.to_vec()).unwrap(),
    }
}
