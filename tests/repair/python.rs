//! Python's own word: what a real `python3` writes with `repr` is followed to its end, and what it reads otherwise
//! than the repair is left alone.
//!
//! 2,000 cases each; `REPAIR_LONG=1` makes them 100,000. Ignored, loudly, where no `python3` is found; with
//! `REPAIR_TESTS=required` in the environment that is a failure.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Command, Stdio};

use tests::long::long;
use tool_runtime::repair::Status;

use crate::judge::Tree;
use crate::literal::read_python;
use crate::oracle::{Answer, Judged, answer_of_the_repair, ignored};

#[test]
fn the_repr_of_a_value_is_repaired_to_that_value() {
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

/// Strings in several pieces, on lines of their own: one string, but not in a list, where a comma may be missing.
#[test]
fn what_pprint_writes_means_what_python_says_or_is_left_alone() {
    let Some(judged) = judged_by_python("pretty", 6, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    judged.are_read(PRETTY_READ);
}

/// Tests the whole grammar that `ast.literal_eval` reads and JSON can write. Deliberate refusals are excluded from the
/// share that is read: see `why_refused` in `oracle.py`.
#[test]
fn a_literal_means_what_python_says_or_is_left_alone() {
    let Some(judged) = judged_by_python("grammar", 2, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    judged.are_read(LITERALS_READ);
}

/// A character too many or too few may give another literal; it must not become a third one.
#[test]
fn a_literal_with_a_slip_means_what_python_says_or_is_left_alone() {
    let Some(judged) = judged_by_python("slips", 3, answer_of_the_repair) else {
        return;
    };
    judged.nothing_is_wrong();
    judged.are_read(SLIPS_READ);
}

/// The reader that other tests trust knows Python as Python does.
#[test]
fn the_reader_of_literals_reads_what_python_reads() {
    for (what, seed) in [("grammar", 4), ("slips", 5)] {
        let Some(judged) = judged_by_python(what, seed, of_the_reader) else {
            return;
        };
        judged.nothing_is_wrong();
        judged.are_read(READER_READS);
    }
}

/// The least share of literals that are read: today's share less a little, so that refusals alone do not pass.
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

/// The tree as JSON, in ASCII.
fn json(tree: &Tree) -> String {
    let string = |units: &[u16]| {
        let escaped: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        format!("\"{escaped}\"")
    };
    match tree {
        Tree::Null => "null".to_owned(),
        Tree::Bool(it) => it.to_string(),
        Tree::Number(text) => text.clone(),
        Tree::Text(units) => string(units),
        Tree::List(items) => {
            let items: Vec<String> = items.iter().map(json).collect();
            format!("[{}]", items.join(","))
        }
        Tree::Map(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}:{}", string(key), json(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
        }
    }
}

/// Answers `oracle.py`'s texts with their repairs until it has judged them all. `None` where there is no Python.
fn judged_by_python(what: &str, seed: u64, answer: fn(&str) -> Answer) -> Option<Judged> {
    let count = if long() { 100_000 } else { 2_000 };
    if !python_is_there() {
        return None;
    }
    let mut python = Command::new("python3")
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/repair/oracle.py"))
        .args([what, &seed.to_string(), &count.to_string()])
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
        judged.report(what);
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
