//! Every form of calls in text in a row, and every reason why similar texts stay text.
//!
//! The table is `calls.txt`. Under a heading (`# …`), each row has a name, optionally the formats (`@ json`; all are the default), the
//! text (`<`, one for each line), and the outcome: `>` has the format, the name and the arguments of a call, `|` the text that remains
//! (one for each line; none if nothing remains); `!` has the reason of a text that stays text, `-` for none.
//!
//! `UPDATE_GOLDEN=1 cargo test -p tests --test repair calls` writes the outcomes; review the difference.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tool_runtime::DeclaredTools;
use tool_runtime::repair::calls::{CallLimits, CallScanner, Format, Formats, Recovered, TextReason, recover};

#[derive(Debug)]
struct Row {
    section: String,
    name: String,
    formats: Vec<Format>,
    text: String,
    outcome: String,
}

impl Row {
    fn formats(&self) -> Formats {
        if self.formats.is_empty() {
            Formats::ALL
        } else {
            self.formats.iter().copied().collect()
        }
    }

    fn recover(&self) -> Recovered {
        recover(&self.text, tools(), self.formats())
    }
}

/// Tools that every row declares.
fn tools() -> DeclaredTools {
    let weather = json!({"type": "object", "properties": {
        "city": {"type": "string"},
        "days": {"type": "integer"},
        "note": {"type": ["string", "null"]},
        "tags": {"type": "array", "items": {"type": "string"}},
        "options": {"type": "object"},
        "metric": {"type": "boolean"},
    }});
    let file =
        json!({"type": "object", "properties": {"path": {"type": "string"}, "content": {"type": "string"}}});
    let none = json!({"type": "object", "properties": {}});
    [
        ("get_weather", weather),
        ("write", file),
        ("get_time", none.clone()),
        ("math.add", none.clone()),
        ("read:file", none),
    ]
    .into_iter()
    .collect()
}

fn file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("repair/calls.txt")
}

fn read() -> Vec<Row> {
    let table = std::fs::read_to_string(file()).expect("calls.txt can be read");
    let (mut rows, mut section): (Vec<Row>, String) = (Vec::new(), String::new());
    let line_of = |line: &str| line.strip_prefix(' ').unwrap_or(line).to_owned();
    for line in table.lines() {
        let mark = line.chars().next().unwrap_or(' ');
        let rest = line.get(mark.len_utf8()..).unwrap_or_default();
        match mark {
            ' ' => {}
            '#' => section = line_of(rest),
            '@' | '<' | '>' | '|' | '!' => {
                let row = rows.last_mut().expect("a row begins with its name");
                match mark {
                    '@' => {
                        row.formats = rest
                            .split_whitespace()
                            .map(|name| name.parse().expect(name))
                            .collect()
                    }
                    '<' => {
                        row.text.push_str(&line_of(rest));
                        row.text.push('\n');
                    }
                    _ => {
                        row.outcome.push_str(line);
                        row.outcome.push('\n');
                    }
                }
            }
            _ => rows.push(Row {
                section: section.clone(),
                name: line.to_owned(),
                formats: Vec::new(),
                text: String::new(),
                outcome: String::new(),
            }),
        }
    }
    for row in &mut rows {
        row.text.pop();
    }
    rows
}

/// Writes the result for a text in the form of the table.
fn outcome(text: &str, recovered: &Recovered) -> String {
    let mut outcome = String::new();
    let Some(format) = recovered.format else {
        assert_eq!(recovered.text, text, "a text without calls is unchanged");
        assert!(recovered.calls.is_empty());
        let reason = recovered.reason.map_or("-", TextReason::as_str);
        return format!("! {reason}\n");
    };
    assert!(!recovered.calls.is_empty() && recovered.reason.is_none());
    assert!(text.starts_with(&recovered.text));
    for call in &recovered.calls {
        let arguments: Value = serde_json::from_str(&call.arguments).expect("arguments are JSON");
        assert!(arguments.is_object());
        let arguments = call.arguments.replace('\n', " ");
        let _ = writeln!(outcome, "> {format} {} {arguments}", call.name);
    }
    for line in recovered.text.lines() {
        let _ = writeln!(outcome, "| {line}");
    }
    outcome
}

#[test]
fn every_row_has_its_outcome() {
    let rows = read();
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(file(), written(&rows)).expect("calls.txt can be written");
        return;
    }
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|row| {
            let is = outcome(&row.text, &row.recover());
            (is != row.outcome).then(|| {
                format!(
                    "{}: {}\n{}\nexpected\n{}got\n{is}",
                    row.section, row.name, row.text, row.outcome
                )
            })
        })
        .collect();
    assert!(wrong.is_empty(), "{} rows:\n\n{}", wrong.len(), wrong.join("\n"));
}

fn written(rows: &[Row]) -> String {
    let mut table = String::new();
    let mut section = "";
    for row in rows {
        if row.section != section {
            section = &row.section;
            let _ = writeln!(table, "# {section}\n");
        }
        let _ = writeln!(table, "{}", row.name);
        if !row.formats.is_empty() {
            let names: Vec<_> = row.formats.iter().map(|format| format.as_str()).collect();
            let _ = writeln!(table, "@ {}", names.join(" "));
        }
        for line in row.text.split('\n') {
            let _ = writeln!(table, "< {line}");
        }
        let _ = writeln!(table, "{}", outcome(&row.text, &row.recover()));
    }
    table
}

#[test]
fn rows_are_distinct_and_show_every_format_and_reason() {
    let rows = read();
    assert!(rows.len() >= 80, "{} rows", rows.len());
    let mut names = BTreeSet::new();
    for row in &rows {
        assert!(
            names.insert((&row.section, &row.name)),
            "duplicate row: {}",
            row.name
        );
    }
    let has = |line: &str| rows.iter().any(|row| row.outcome.contains(line));
    for format in Format::ALL {
        assert!(has(&format!("> {format} ")), "no row has calls of {format}");
    }
    // Other tests have the limits.
    for reason in TextReason::ALL {
        let is_limit = matches!(reason, TextReason::TooLong);
        assert!(
            is_limit || has(&format!("! {reason}\n")),
            "no row has the reason {reason}"
        );
    }
}

/// Scans a text in two or more pieces. Returned text is joined with the rest.
fn in_pieces<'t>(
    pieces: impl IntoIterator<Item = &'t str>,
    formats: Formats,
    limits: CallLimits,
) -> Recovered {
    let mut scanner = CallScanner::with_limits(tools(), formats, limits);
    let mut text = String::new();
    for piece in pieces {
        text.push_str(scanner.push(piece));
    }
    let mut recovered = scanner.finish();
    text.push_str(&recovered.text);
    recovered.text = text;
    recovered
}

#[test]
fn every_split_has_the_result_of_the_whole() {
    for row in read() {
        for held in [CallLimits::default().held, 40] {
            let limits = CallLimits { held };
            let whole = in_pieces([&*row.text], row.formats(), limits);
            for (at, _) in row.text.char_indices() {
                let (start, end) = row.text.split_at(at);
                assert_eq!(
                    in_pieces([start, end], row.formats(), limits),
                    whole,
                    "{}: {start:?}",
                    row.name
                );
            }
            let characters = row
                .text
                .char_indices()
                .map(|(at, it)| &row.text[at..at + it.len_utf8()]);
            assert_eq!(
                in_pieces(characters, row.formats(), limits),
                whole,
                "{}",
                row.name
            );
        }
    }
}

/// Beginnings of calls are never calls, unless the rest is only closing tags, separators or the end of the turn.
#[test]
fn cut_calls_are_not_completed() {
    // Half of the text with thoughts can have a call that the rest makes a thought.
    for row in read().into_iter().filter(|row| row.section != "Thoughts") {
        let whole = row.recover();
        for (at, _) in row.text.char_indices() {
            let cut = recover(&row.text[..at], tools(), row.formats());
            for (index, call) in cut.calls.iter().enumerate() {
                // A shorter text can end before prose that makes the whole a text.
                assert!(
                    whole.calls.is_empty() || whole.calls.get(index) == Some(call),
                    "{}: {:?}",
                    row.name,
                    &row.text[..at]
                );
            }
        }
    }
}

#[test]
fn no_format_recovers_nothing() {
    for row in read() {
        let recovered = recover(&row.text, tools(), Formats::NONE);
        assert_eq!(
            (recovered.text, recovered.calls.len(), recovered.reason),
            (row.text, 0, None)
        );
    }
}

#[test]
fn releases_text_as_soon_as_a_call_is_ruled_out() {
    for (text, released) in [
        ("The weather is", "The weather is"),
        ("get_we", ""),
        ("get_wet", "get_wet"),
        ("{\"name\": \"get_", ""),
        ("{\"name\": \"Paris", "{\"name\": \"Paris"),
        ("{\"city\":", "{\"city\":"),
        ("[1, 2", "[1, 2"),
        ("a < b and c <d", "a < b and c"),
        ("Use <b>", "Use <b>"),
        ("Use <tool_call> to", "Use"),
        ("Use <tool_call> to b", "Use <tool_call> to b"),
        ("Yes.\n\n<tool_call>\n", "Yes."),
        // No text after a bracket of another kind makes a call of it.
        ("<tool_call>get_time(a=[1", ""),
        ("<tool_call>get_time(a=[1)", "<tool_call>get_time(a=[1)"),
        (
            "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call> \n",
            "",
        ),
        (
            "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call> It is",
            "<tool_call>{\"name\": \"get_time\", \"arguments\": {}}</tool_call> It is",
        ),
        ("get_time()\n", ""),
        ("get_time() is", "get_time() is"),
    ] {
        let mut scanner = CallScanner::new(tools(), Formats::ALL);
        assert_eq!(scanner.push(text), released, "{text:?}");
    }
}

#[test]
fn longer_calls_than_the_limit_are_text() {
    let text = format!(
        "<tool_call>{{\"name\": \"write\", \"arguments\": {{\"content\": \"{}\"}}}}",
        "a".repeat(2000)
    );
    for (held, reason) in [
        (1000, Some(TextReason::TooLong)),
        (text.len() - 1, Some(TextReason::TooLong)),
        (text.len(), None),
    ] {
        let recovered = in_pieces([&*text], Formats::ALL, CallLimits { held });
        assert_eq!(recovered.reason, reason, "{held}");
        assert_eq!(recovered.calls.len(), usize::from(reason.is_none()));
    }
}
