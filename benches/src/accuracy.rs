//! Accuracy of repairs on recorded model outputs and on generated calls, compared with other repair libraries. A repair is right, refused or wrong.

use serde::Deserialize;
use serde_json::Value;
use tool_runtime::repair::{Status, repair};

use crate::deviations::{AMBIGUOUS, UNAMBIGUOUS, calls, cases, code};
use crate::exact_json::JsonValue;
use crate::others::{self, Repairer};
use crate::random::Random;
use crate::written::{Style, json};

pub fn run() {
    let peers = [others::json_repair_of_python(), others::jsonrepair_of_npm()];
    println!("## Accuracy on recorded model outputs and on generated calls\n");
    println!(
        "Right / refused / wrong. If the text does not determine the intended value, any repaired value is wrong.\n"
    );
    let json_repair = include_str!("../json_repair/requirements.txt")
        .trim()
        .replace("==", " ");
    let npm: Value =
        serde_json::from_str(include_str!("../jsonrepair/package.json")).expect("a manifest is JSON");
    let npm = npm["dependencies"]["jsonrepair"].as_str().unwrap_or_default();
    println!("| texts | number | `tool-repair` | {json_repair} | npm jsonrepair {npm} |");
    println!("|---|---|---|---|---|");
    let mut peers = peers.map(|peer| peer.map(|peer| Contender::Peer(Box::new(peer))));
    for (name, texts) in sets() {
        let ours = Tally::of(&mut Contender::Ours, &texts).shown();
        let theirs = peers.each_mut().map(|peer| match peer {
            Some(peer) => Tally::of(peer, &texts).shown(),
            None => "not installed".to_owned(),
        });
        println!("| {name} | {} | {ours} | {} |", texts.len(), theirs.join(" | "));
    }
    println!();
}

/// A text and its correct values. A text without correct values should be refused.
struct Text {
    text: String,
    right: Vec<Value>,
}

/// A line of the files in `tests/repair/honest`.
#[derive(Deserialize)]
struct Line {
    text: String,
    want: Value,
    #[serde(default)]
    also: Vec<Value>,
    tier: String,
}

fn sets() -> Vec<(&'static str, Vec<Text>)> {
    let real = include_str!("../../tests/repair/honest/real.jsonl");
    let packaged = include_str!("../../tests/repair/honest/prose.jsonl");
    vec![
        (
            "output in public issues, intended value certain",
            tier(real, "sure"),
        ),
        (
            "output in public issues, intended value likely",
            tier(real, "likely"),
        ),
        (
            "output in public issues, intended value a guess",
            tier(real, "refuse"),
        ),
        (
            "text around the JSON, intended value certain",
            tier(packaged, "sure"),
        ),
        (
            "calls with one deviation, intended value certain",
            deviating(&calls(), true),
        ),
        (
            "calls that write a source file, with one deviation, intended value certain",
            deviating(&code(), true),
        ),
        (
            "calls with one deviation, intended value a guess",
            deviating(&calls(), false),
        ),
        (
            "calls that write a source file, with one deviation, intended value a guess",
            deviating(&code(), false),
        ),
    ]
}

fn tier(lines: &str, tier: &str) -> Vec<Text> {
    lines
        .lines()
        .map(|line| serde_json::from_str::<Line>(line).expect("a line is an object"))
        .filter(|line| line.tier == tier)
        .map(|line| Text {
            text: line.text,
            right: if tier == "refuse" {
                Vec::new()
            } else {
                [line.want].into_iter().chain(line.also).collect()
            },
        })
        .collect()
}

fn deviating(payloads: &[JsonValue], sure: bool) -> Vec<Text> {
    let value = |tree| {
        let text = json(tree, Style::Compact, &mut Random::new(0));
        serde_json::from_str(&text).expect("an encoded value is JSON")
    };
    cases(payloads, if sure { &UNAMBIGUOUS } else { &AMBIGUOUS })
        .map(|case| Text {
            right: if sure { vec![value(case.tree)] } else { Vec::new() },
            text: case.text,
        })
        .collect()
}

enum Contender {
    Ours,
    Peer(Box<Repairer>),
}

impl Contender {
    /// Returns the repaired text, or `None` if the repair is refused.
    fn repair(&mut self, text: &str) -> Option<String> {
        match self {
            Self::Ours => {
                let repaired = repair(text);
                let read = matches!(repaired.status, Status::Valid | Status::Repaired);
                read.then(|| repaired.text.into_owned())
            }
            Self::Peer(peer) => peer.repair(text),
        }
    }
}

#[derive(Default)]
struct Tally {
    right: usize,
    refused: usize,
    wrong: usize,
}

impl Tally {
    fn of(contender: &mut Contender, texts: &[Text]) -> Self {
        let mut tally = Self::default();
        for Text { text, right } in texts {
            let Some(repaired) = contender.repair(text) else {
                tally.refused += 1;
                continue;
            };
            let value = serde_json::from_str::<Value>(&repaired);
            let is_right = value.is_ok_and(|value| right.iter().any(|right| same(right, &value)));
            *if is_right {
                &mut tally.right
            } else {
                &mut tally.wrong
            } += 1;
        }
        tally
    }

    fn shown(&self) -> String {
        format!("{} / {} / {}", self.right, self.refused, self.wrong)
    }
}

/// Returns whether the values are equal, with numbers compared by value.
fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => one.as_f64() == other.as_f64(),
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len() && one.iter().zip(other).all(|(one, other)| same(one, other))
        }
        (Value::Object(one), Value::Object(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .all(|(key, one)| other.get(key).is_some_and(|other| same(one, other)))
        }
        _ => one == other,
    }
}
