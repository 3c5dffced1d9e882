//! Every construct and condition of the repair in a row: accepted texts, and similar texts that are not accepted.
//!
//! The table is `table.txt`. Under a heading (`# …`), each row has a name, the text (`<`, one for each line), and the outcome: `=` is
//! valid; `>` is repaired, with the result and then the fixes as `code@offset`; `! refused@offset` or `! truncated@offset` have the
//! position of the reason; after `?`, the repair may also refuse. `␉ ␍ …` mean control characters, `␠` a space at an end, `␣` a no-break
//! space.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tests --test repair table` updates the fixes, the positions and the white space of results, but never
//! their meaning; review the difference.

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;

use tool_runtime::repair::{FixCode, Repaired, Status, repair};

use crate::exact_json::parse_json;
use crate::literal::read_python;
use crate::pieces::assert_equal_in_pieces;

#[derive(Debug, Clone, PartialEq, Eq)]
enum Outcome {
    Valid,
    Repaired { text: String, fixes: String },
    Either { text: String },
    Unchanged { status: Status, offset: Option<usize> },
}

#[derive(Debug, Clone)]
struct Row {
    section: String,
    name: String,
    text: String,
    outcome: Outcome,
}

#[test]
fn every_row_has_the_result_of_the_table() {
    let rows = read();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let updated: Vec<Row> = rows.iter().map(updated).collect();
        std::fs::write(file(), written(&updated)).expect("table.txt can be written");
        return;
    }
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let is = outcome(row, &repair(&row.text));
            (is != row.outcome).then(|| {
                format!(
                    "{}: {}\n{}is\n{}",
                    row.section,
                    row.name,
                    shown(&row.text, &row.outcome),
                    shown("", &is)
                )
            })
        })
        .collect();
    assert!(
        wrong.is_empty(),
        "{} rows come out in another way:\n\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

#[test]
fn every_row_is_unique() {
    let rows = read();
    assert!(rows.len() > 400, "{} rows", rows.len());
    let mut texts = BTreeSet::new();
    let mut names = BTreeSet::new();
    for row in &rows {
        assert!(texts.insert(&row.text), "twice: {}", row.text);
        assert!(names.insert((&row.section, &row.name)), "twice: {}", row.name);
    }
    // A fix that is not in the table has no test.
    for code in FixCode::ALL {
        let shown = rows.iter().any(|row| match &row.outcome {
            Outcome::Repaired { fixes, .. } => fixes.contains(&format!("{}@", code.as_str())),
            _ => false,
        });
        assert!(shown, "no row shows `{}`", code.as_str());
    }
}

#[test]
fn every_row_has_equal_results_in_pieces() {
    for row in read() {
        for length in 1..4 {
            assert_equal_in_pieces(&row.text, || length);
        }
    }
}

#[test]
fn repaired_and_rejected_texts_are_stable() {
    for row in read() {
        let once = repair(&row.text);
        let twice = repair(&once.text);
        if once.status == Status::Repaired {
            assert_eq!(twice.status, Status::Valid, "{}", once.text);
        } else {
            assert_eq!(once.status, twice.status, "{}", once.text);
            assert!(matches!(once.text, Cow::Borrowed(same) if same == row.text));
            assert!(once.fixes.is_empty());
        }
        assert_eq!(once.text, twice.text);
    }
}

/// Two independent parsers agree with the repair.
#[test]
fn repaired_texts_are_json_and_agree_with_python() {
    for row in read() {
        let repaired = repair(&row.text);
        let says = parse_json(&repaired.text);
        let json = matches!(repaired.status, Status::Valid | Status::Repaired);
        assert_eq!(json, says.is_some(), "{}", repaired.text);
        // JSON escapes keep their meaning in double quotes: `\/` is not two characters. `\_` in a key is not, either; and beside other
        // backslashes, in a text without Python syntax, `\a` is not a control character.
        let of_json = [r"\/", r"\_"].iter().any(|escape| row.text.contains(escape));
        let path = row.text.contains(r"\a") && !row.text.contains(['\'', 'T']);
        if let Some(python) = read_python(&row.text).filter(|_| !of_json && !path)
            && repaired.status == Status::Repaired
        {
            assert_eq!(says, Some(python), "{}", row.text);
        }
        if let Some(reason) = repaired.reason {
            assert!(
                row.text.is_char_boundary(reason.offset),
                "{}: {reason:?}",
                row.text
            );
        }
    }
}

#[test]
fn every_fix_has_its_offset() {
    for row in read() {
        for fix in repair(&row.text).fixes.first() {
            let at = row.text.get(fix.offset..);
            let at = at.unwrap_or_else(|| panic!("{}: {fix:?} is inside a character", row.text));
            assert!(fits(fix.code, at), "{}: {fix:?} stands at `{at}`", row.text);
        }
    }
}

/// Returns whether such a fix can begin with this character.
fn fits(code: FixCode, at: &str) -> bool {
    let first = at.chars().next().unwrap_or('\0');
    match code {
        FixCode::SingleQuotes => first == '\'',
        FixCode::TripleQuotes => at.starts_with("'''") || at.starts_with("\"\"\""),
        FixCode::SmartQuotes => "“”‘’".contains(first),
        FixCode::StringPrefix => "rRuU".contains(first),
        FixCode::ConcatenatedStrings => "'\"rRuU".contains(first),
        FixCode::PythonEscape | FixCode::UnknownEscape | FixCode::EscapedWhole => "\\{[".contains(first),
        FixCode::ControlCharacter => first.is_control(),
        FixCode::InnerQuote => "'\"".contains(first),
        FixCode::Backticks => first == '`',
        FixCode::PythonLiteral => "TFN".contains(first),
        FixCode::PythonNumber => "+-.0123456789".contains(first),
        FixCode::Tuple | FixCode::Parentheses => first == '(',
        FixCode::TrailingComma | FixCode::DoubleComma => first == ',',
        FixCode::MissingColon => "\"{[tfnTFN".contains(first) || first.is_ascii_digit(),
        FixCode::MissingComma | FixCode::MissingBracket | FixCode::TextAfter | FixCode::Packaging => true,
        FixCode::DoubledBraces => first == '{',
        FixCode::Comment => "#/".contains(first),
        FixCode::UnquotedKey => first.is_alphabetic() || first == '_',
        FixCode::NumberKey => "+-0123456789".contains(first),
        FixCode::TextBefore => !"{[".contains(first),
        FixCode::ExtraClosers => "}])".contains(first),
        FixCode::EmptyPrefix => first == '}',
        FixCode::Doubled => "{[".contains(first),
        FixCode::OddSpace => first.is_whitespace() || first == '\u{feff}' || first == '\\',
        _ => false,
    }
}

/// Writes the outcome of a row in the format of the table. Fields that the row omits are copied from it.
fn outcome(row: &Row, repaired: &Repaired<'_>) -> Outcome {
    let text = repaired.text.clone().into_owned();
    if let Outcome::Either { text: meant } = &row.outcome
        && (text == row.text || text == *meant)
    {
        return row.outcome.clone();
    }
    match repaired.status {
        Status::Valid => Outcome::Valid,
        Status::Repaired => Outcome::Repaired {
            text,
            fixes: repaired
                .fixes
                .first()
                .iter()
                .map(|fix| format!("{}@{}", fix.code.as_str(), fix.offset))
                .collect::<Vec<_>>()
                .join(" "),
        },
        status => Outcome::Unchanged {
            status,
            offset: repaired.reason.as_ref().map(|reason| reason.offset),
        },
    }
}

/// Returns the row with updated fields that do not affect its meaning.
fn updated(row: &Row) -> Row {
    let is = outcome(row, &repair(&row.text));
    let outcome = match (&row.outcome, &is) {
        (Outcome::Repaired { text: meant, .. }, Outcome::Repaired { text, .. })
            if parse_json(meant) == parse_json(text) =>
        {
            is
        }
        (Outcome::Unchanged { status: meant, .. }, Outcome::Unchanged { status, .. }) if meant == status => {
            is
        }
        (Outcome::Either { text: meant }, Outcome::Repaired { text, .. })
            if parse_json(meant) == parse_json(text) =>
        {
            Outcome::Either { text: text.clone() }
        }
        _ => row.outcome.clone(),
    };
    Row {
        outcome,
        ..row.clone()
    }
}

fn file() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("repair/table.txt")
}

fn read() -> Vec<Row> {
    let mut rows = Vec::new();
    let (mut section, mut name) = (String::new(), String::new());
    let table = std::fs::read_to_string(file()).expect("table.txt can be read");
    let mut lines = table.lines().peekable();
    // Returns all lines with this prefix, from the current one.
    while let Some(line) = lines.next() {
        if let Some(heading) = line.strip_prefix("# ") {
            heading.clone_into(&mut section);
            continue;
        }
        let mark = line.chars().next().unwrap_or(' ');
        if !"<>?".contains(mark) {
            match mark {
                '=' | '!' => finish(&mut rows, verdict(line)),
                ' ' if line.starts_with("  ") => add_fixes(&mut rows, line.trim()),
                ' ' => {}
                _ => line.clone_into(&mut name),
            }
            continue;
        }
        let mut text = plain(&line[1..]);
        while let Some(more) = lines.next_if(|line| line.starts_with(mark)) {
            text.push('\n');
            text.push_str(&plain(&more[1..]));
        }
        match mark {
            '<' => rows.push(Row {
                section: section.clone(),
                name: name.clone(),
                text,
                outcome: Outcome::Valid,
            }),
            '>' => {
                let fixes = String::new();
                finish(&mut rows, Outcome::Repaired { text, fixes });
            }
            _ => finish(&mut rows, Outcome::Either { text }),
        }
    }
    rows
}

fn finish(rows: &mut [Row], outcome: Outcome) {
    let row = rows.last_mut().expect("a text comes first");
    row.outcome = outcome;
}

fn add_fixes(rows: &mut [Row], list: &str) {
    match rows.last_mut().map(|row| &mut row.outcome) {
        Some(Outcome::Repaired { fixes, .. }) => list.clone_into(fixes),
        _ => panic!("fixes of what is not repaired: {list}"),
    }
}

fn verdict(line: &str) -> Outcome {
    let Some(verdict) = line.strip_prefix("! ") else {
        return Outcome::Valid;
    };
    let (status, offset) = match verdict.split_once('@') {
        Some((status, offset)) => (status, Some(offset.parse().expect("an offset is a number"))),
        None => (verdict, None),
    };
    let status = match status {
        "refused" => Status::Refused,
        "truncated" => Status::Truncated,
        _ => panic!("no status: {line}"),
    };
    Outcome::Unchanged { status, offset }
}

fn written(rows: &[Row]) -> String {
    let mut text = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = &row.section;
            let gap = if text.is_empty() { "" } else { "\n" };
            let _ = writeln!(text, "{gap}# {section}\n");
        }
        let _ = write!(text, "{}\n{}", row.name, shown(&row.text, &row.outcome));
    }
    text
}

/// Parses a text and its outcome.
fn shown(text: &str, outcome: &Outcome) -> String {
    let marked = |mark: &str, text: &str| -> String {
        let lines = text.split('\n').map(|line| {
            let line = format!("{mark} {}", pictured(line));
            format!("{}\n", line.trim_end())
        });
        lines.collect()
    };
    let text = marked("<", text);
    match outcome {
        Outcome::Valid => format!("{text}=\n"),
        Outcome::Repaired { text: result, fixes } => {
            format!("{text}{}  {fixes}\n", marked(">", result)).replace("\n  \n", "\n")
        }
        Outcome::Either { text: result } => format!("{text}{}", marked("?", result)),
        Outcome::Unchanged { status, offset } => {
            let status = format!("{status:?}").to_lowercase();
            let offset = offset.map_or_else(String::new, |offset| format!("@{offset}"));
            format!("{text}! {status}{offset}\n")
        }
    }
}

/// Converts a line of the table to its text.
fn plain(line: &str) -> String {
    let line = line.strip_prefix(' ').unwrap_or(line);
    let meant = |character| match character {
        '␠' => ' ',
        '␡' => '\x7F',
        '␣' => '\u{A0}',
        '␀'..='␟' => char::from_u32(u32::from(character) - 0x2400).unwrap_or_default(),
        _ => character,
    };
    line.chars().map(meant).collect()
}

/// Converts a text to a line of the table.
fn pictured(line: &str) -> String {
    let seen = |character| match character {
        '\x7F' => '␡',
        '\u{A0}' => '␣',
        '\0'..='\x1F' => char::from_u32(u32::from(character) + 0x2400).unwrap_or_default(),
        _ => character,
    };
    let mut pictured: String = line.chars().map(seen).collect();
    if pictured.ends_with(' ') {
        pictured.pop();
        pictured.push('␠');
    }
    pictured
}
