//! Compares with a real `python3`: texts of `repr` are repaired completely, and texts with another meaning in Python stay unchanged.
//!
//! 2,000 cases are tested in each test, 100,000 with `REPAIR_LONG=1`. Without `python3`, the tests are ignored with a message, or fail if
//! `REPAIR_TESTS=required` is set.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use tests::long::long;
use tool_runtime::repair::Status;

use crate::exact_json::JsonValue;
use crate::literal::read_python;
use crate::oracle::{Answer, Judged, answer_of_the_repair, ignored};

#[test]
fn python_repr_is_repaired_to_its_value() {
    let Some(judged) = judged_by_python("values", 1, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    let repaired = judged.share(&["repaired"]);
    assert!(
        repaired > 0.6,
        "reprs are hardly ever JSON, but only {repaired:.2} needed a repair"
    );
}

/// Strings in several pieces on separate lines: one string, except in a list, where a comma may be missing.
#[test]
fn pprint_output_is_repaired_as_by_python_or_unchanged() {
    let Some(judged) = judged_by_python("pretty", 6, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    judged.are_read(PRETTY_READ);
}

/// Tests the whole grammar that `ast.literal_eval` accepts and JSON can represent. Deliberate refusals do not count: see `why_refused` in
/// `oracle.py`.
#[test]
fn python_literal_is_repaired_as_by_python_or_unchanged() {
    let Some(judged) = judged_by_python("grammar", 2, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    judged.are_read(LITERALS_READ);
}

/// An additional or a missing character may result in another literal. The repair must not return a third one.
#[test]
fn damaged_python_literal_is_repaired_as_by_python_or_unchanged() {
    let Some(judged) = judged_by_python("slips", 3, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    judged.are_read(SLIPS_READ);
}

/// The parser in `literal.rs`, which other tests rely on, agrees with Python.
#[test]
fn literal_parser_agrees_with_python() {
    for (label, seed) in [("grammar", 4), ("slips", 5)] {
        let Some(judged) = judged_by_python(label, seed, of_the_reader) else {
            return;
        };
        judged.nothing_is_wrong();
        judged.are_read(READER_READS);
    }
}

/// Minimum share of repaired literals, slightly below the current share, so that a repair that rejects every literal fails.
const PRETTY_READ: f64 = 0.85;
const LITERALS_READ: f64 = 0.95;
const SLIPS_READ: f64 = 0.8;
const READER_READS: f64 = 0.9;

fn of_the_reader(text: &str) -> Answer {
    match read_python(text) {
        Some(tree) => (Status::Repaired, json(&tree)),
        None => (Status::Refused, text.to_owned()),
    }
}

/// Writes the tree as JSON in ASCII.
fn json(tree: &JsonValue) -> String {
    let string = |units: &[u16]| {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{escaped}\"")
    };
    match tree {
        JsonValue::Null => "null".to_owned(),
        JsonValue::Bool(it) => it.to_string(),
        JsonValue::Number(text) => text.clone(),
        JsonValue::String(units) => string(units),
        JsonValue::Array(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", items.join(","))
        }
        JsonValue::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", string(key), json(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

/// Answers the texts of `oracle.py` with their repairs, until all are judged. Returns `None` without Python.
fn judged_by_python(label: &str, seed: u64, answer: fn(&str) -> Answer) -> Option<Judged> {
    let count = if long() { 100_000 } else { 2_000 };
    if !python_is_there() {
        return None;
    }
    let mut python = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/repair/oracle.py"))
        .args([label, &seed.to_string(), &count.to_string()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut answers = python.stdin.take().unwrap();
    let mut judged = None;
    for line in BufReader::new(python.stdout.take().unwrap()).lines() {
        let line = line.unwrap();
        if line.starts_with('{') {
            judged = Some(serde_json::from_str(&line).unwrap());
            break;
        }
        let texts: Vec<String> = serde_json::from_str(&line).unwrap();
        let answered: Vec<Answer> = texts.iter().map(|text| answer(text)).collect();
        writeln!(answers, "{}", serde_json::to_string(&answered).unwrap()).unwrap();
    }
    assert!(python.wait().unwrap().success(), "oracle.py failed");
    let judged: Option<Judged> = judged;
    if let Some(judged) = &judged {
        judged.report(label);
    }
    judged
}

fn python_is_there() -> bool {
    let version = Command::new("python3").arg("--version").output();
    if version.is_ok_and(|output| output.status.success()) {
        return true;
    }
    ignored("what only Python can judge, for want of a `python3`");
    false
}
