//! Measures the share of repaired texts with a single deviation from JSON. No text may get a wrong value.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tests::deviations::{AMBIGUOUS, Case, Deviation, UNAMBIGUOUS, calls, cases, code};
use tests::exact_json::{JsonValue, parse_json};
use tool_runtime::repair::{Status, repair};

#[derive(Debug, Default, Clone, Copy)]
struct Tally {
    right: usize,
    refused: usize,
    wrong: usize,
}

fn tally(payloads: &[JsonValue], deviations: &[Deviation], is_unambiguous: bool) -> Tally {
    let mut all = Tally::default();
    let mut each: BTreeMap<&str, Tally> = BTreeMap::new();
    let mut shown = String::new();
    for Case {
        deviation: name,
        text,
        tree,
    } in cases(payloads, deviations)
    {
        let repaired = repair(&text);
        let tally = each.entry(name).or_default();
        if !matches!(repaired.status, Status::Valid | Status::Repaired) {
            tally.refused += 1;
            if is_unambiguous && tally.refused <= 3 {
                let _ = writeln!(shown, "refused: {name}: {text} ({:?})", repaired.reason);
            }
        } else if is_unambiguous && parse_json(&repaired.text).as_ref() == Some(tree) {
            tally.right += 1;
        } else {
            tally.wrong += 1;
            let _ = writeln!(shown, "WRONG: {name}: {text} became {}", repaired.text);
        }
    }
    for (
        name,
        Tally {
            right,
            refused,
            wrong,
        },
    ) in each
    {
        println!("| {name} | {right} | {refused} | {wrong} |");
        all.right += right;
        all.refused += refused;
        all.wrong += wrong;
    }
    println!("{shown}\n{all:?}");
    all
}

fn share(tally: Tally) -> usize {
    tally.right * 1000 / (tally.right + tally.refused + tally.wrong)
}

#[test]
fn reads_single_deviations_of_calls() {
    let calls = tally(&calls(), &UNAMBIGUOUS, true);
    assert_eq!(calls.wrong, 0);
    assert!(share(calls) >= CALLS_READ, "{} of 1000", share(calls));
}

#[test]
fn reads_single_deviations_of_code() {
    let code = tally(&code(), &UNAMBIGUOUS, true);
    assert_eq!(code.wrong, 0);
    assert!(share(code) >= CODE_READ, "{} of 1000", share(code));
}

#[test]
fn rejects_ambiguous_deviations() {
    for payloads in [calls(), code()] {
        let refused = tally(&payloads, &AMBIGUOUS, false);
        assert_eq!(refused.wrong, 0);
        assert!(refused.refused > 900);
    }
}

/// Texts with only raw line breaks in code and prose.
#[test]
fn reads_raw_line_breaks() {
    let raw: Vec<Deviation> = UNAMBIGUOUS
        .iter()
        .filter(|(name, _)| name.starts_with("raw line"))
        .copied()
        .collect();
    let read = tally(&code(), &raw, true);
    assert_eq!(read.wrong, 0);
    assert!(share(read) >= RAW_READ, "{} of 1000", share(read));
}

/// Out of 1000.
const CALLS_READ: usize = 990;
const CODE_READ: usize = 990;
const RAW_READ: usize = 1000;
