//! Recorded answers of models on the Berkeley Function-Calling Leaderboard (BFCL): the outcome of each call, and whether correct calls stay
//! correct.
//!
//! `cargo run --release -- recorded DIR`; [README.md](../../README.md#recorded-answers) names the repositories for `DIR`.

// A module uses only modules that are declared before it.
mod python;
mod checker;
mod questions;
mod answers;
mod texts;
mod outcome;
mod text_calls;

use std::collections::BTreeMap;
use std::path::Path;

use answers::{Answer, Call};
use outcome::{Outcome, Tally};
use questions::Questions;

/// Prints the tables of answers of 2024 and 2025, with a row for each model.
pub fn run(directory: &Path) -> Result<(), String> {
    let questions = Questions::read(directory)?;
    println!("## Recorded answers\n");
    println!("{}\n", outcome::LEGEND);
    text_calls::print(&answers::texts_of_2024(directory)?, &questions);
    let mut python = python::LiteralEval::start();
    for (heading, models) in [
        ("BFCL-Result, 2024", answers::of_2024(directory)?),
        ("bfcl-vllm-results, 2025", answers::of_2025(directory)?),
    ] {
        println!("### {heading}\n\n{}", outcome::HEAD);
        let mut all = Tally::default();
        let mut contradictions = BTreeMap::new();
        for model in models {
            let mut tally = Tally::default();
            for answer in &model.answers {
                count(answer, &questions, &mut python, &mut tally, &mut contradictions);
            }
            println!("{}", tally.row(&model.name));
            all += tally;
        }
        println!("{}\n", all.row("**all**"));
        println!("{}", all.sentences(python.is_some()));
        if !contradictions.is_empty() {
            let tests = contradictions
                .iter()
                .map(|(id, calls)| format!("`{id}` ({calls})"));
            let tests: Vec<String> = tests.collect();
            println!(
                "Tests whose answers contradict their schemas, and lost calls: {}.",
                tests.join(", ")
            );
        }
        println!();
    }
    Ok(())
}

/// Counts the calls of an answer.
fn count(
    answer: &Answer,
    questions: &Questions,
    python: &mut Option<python::LiteralEval>,
    tally: &mut Tally,
    contradictions: &mut BTreeMap<String, usize>,
) {
    let Some(question) = questions.get(&answer.id) else {
        return;
    };
    let calls = match answer.calls {
        answers::Calls::Native(ref calls) => calls.iter().map(Call::clone).collect(),
        answers::Calls::Texts(ref texts) => {
            let mut calls = Vec::new();
            for text in texts {
                calls.extend(texts::read(text, python, tally));
            }
            calls
        }
    };
    for call in calls {
        let Some(tool) = question.tool(&call.name) else {
            continue;
        };
        let outcome = Outcome::of(question, tool, &call);
        if let Some(report) = outcome.report(&answer.id, tool, &call) {
            eprintln!("{report}");
        }
        if outcome.contradicts_schema() {
            *contradictions.entry(answer.id.clone()).or_default() += 1;
        }
        tally.count(&outcome);
    }
}
