//! Real output of models: texts from public threads, and ordinary packaging around a value. The numbers of repaired texts are minimums, so
//! that a new refusal shows its cost.

use std::path::Path;

use serde::Deserialize;
use serde_json::Value;
use tool_runtime::repair::{Status, repair};

/// A line of the files. `want` is the value; `also` are other correct values.
#[derive(Deserialize)]
struct Line {
    deviation: String,
    text: String,
    want: Value,
    #[serde(default)]
    also: Vec<Value>,
    tier: String,
}

/// Numbers of texts that were repaired, unchanged, or repaired to another value.
#[derive(Debug, Default, PartialEq, Eq)]
struct Tally {
    right: usize,
    refused: usize,
    wrong: usize,
}

fn tally(file: &str, tier: &str) -> Tally {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("repair/honest")
        .join(file);
    let lines = std::fs::read_to_string(path).expect("the honest texts are there");
    let mut tally = Tally::default();
    for line in lines.lines() {
        let line: Line = serde_json::from_str(line).expect("a line is an object");
        if line.tier != tier {
            continue;
        }
        let repaired = repair(&line.text);
        if !matches!(repaired.status, Status::Valid | Status::Repaired) {
            let reason = repaired.reason.map(|reason| reason.to_string());
            println!(
                "refused: {}: {} ({})",
                line.deviation,
                line.text,
                reason.unwrap_or_default()
            );
            tally.refused += 1;
            continue;
        }
        let value: Value = serde_json::from_str(&repaired.text).expect("a repaired text is JSON");
        if tier != "refuse" && (value == line.want || line.also.contains(&value)) {
            tally.right += 1;
        } else {
            println!(
                "wrong: {}: {} became {}",
                line.deviation, line.text, repaired.text
            );
            tally.wrong += 1;
        }
    }
    println!("{file}, {tier}: {tally:?}");
    tally
}

#[test]
fn repairs_recorded_texts_of_models() {
    let sure = tally("real.jsonl", "sure");
    assert!(sure.right >= REAL_READ, "{sure:?}");
    assert_eq!(sure.wrong, 0, "{sure:?}");
}

#[test]
fn counts_likely_readings() {
    let likely = tally("real.jsonl", "likely");
    assert_eq!(likely.wrong, 0, "{likely:?}");
}

#[test]
fn rejects_texts_without_a_plausible_reading() {
    assert_eq!(
        tally("real.jsonl", "refuse"),
        Tally {
            refused: 7,
            ..Tally::default()
        }
    );
}

#[test]
fn repairs_values_in_common_packaging() {
    let prose = tally("prose.jsonl", "sure");
    assert!(prose.right >= PACKAGED_READ, "{prose:?}");
    assert_eq!(prose.wrong, 0, "{prose:?}");
}

/// Out of 39, 39 and 262.
const REAL_READ: usize = 38;
const PACKAGED_READ: usize = 250;
