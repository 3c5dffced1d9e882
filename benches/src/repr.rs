//! Speed with output of Python's `repr`, compared with a repairer in another language and with Python's own parser.

use serde::de::IgnoredAny;
use tool_runtime::repair::{Status, repair};

use crate::clock::{Contender, Timed, rounds, short, side_by_side, work};
use crate::{others, texts};

/// Goals in megabytes per second for each size, on a machine on which `IgnoredAny` parses the list as JSON at [`REFERENCE`] MB/s.
const GOALS: [f64; 3] = [250.0, 250.0, 200.0];
const REFERENCE: f64 = 1100.0;

pub fn run() {
    println!("## Python's `repr` of a todo list\n");
    println!(
        "MB/s, as above; the last column is the goal on a machine where `IgnoredAny` reads {REFERENCE} MB/s of the \
         same list as JSON, and in brackets what that is on this one.\n"
    );
    println!(
        "| size | `repair` | npm `jsonrepair` | `ast.literal_eval` | times theirs | `IgnoredAny` on JSON | goal |"
    );
    println!("|---|---|---|---|---|---|---|");
    for ((size, bytes), goal) in texts::SIZES.into_iter().zip(GOALS) {
        let (text, json) = (texts::todos_repr(bytes), texts::todos(bytes));
        let repaired = repair(&text);
        assert_eq!((repaired.status, &*repaired.text), (Status::Repaired, &*json));
        let file = std::env::temp_dir().join(format!("todos-{}-{bytes}.txt", std::process::id()));
        std::fs::write(&file, &text).expect("the folder for temporary files can be written to");
        let (node, python) = (others::jsonrepair(&file), others::literal_eval(&file));
        let present = [node.is_some(), python.is_some()];
        let mut contenders: Vec<Contender<'_>> = vec![
            work(|| repair(&text)),
            work(|| serde_json::from_str::<IgnoredAny>(&json)),
        ];
        contenders.extend([node, python].into_iter().flatten());
        let timed = side_by_side(&mut contenders, rounds(bytes));
        let mut rest = timed[2..].iter();
        let others = present.map(|present| if present { rest.next() } else { None });
        let rate = |other: Option<&Timed>| other.map_or("left out".into(), |it| it.rate(text.len()));
        let ratio =
            |other: Option<&Timed>| other.map_or("–".into(), |it| short(timed[0].times_as_fast_as(it)));
        let here = goal * json.len() as f64 * 1e3 / timed[1].median() / REFERENCE;
        println!(
            "| {size} | {} | {} | {} | {}, {} | {} | ≥ {goal} ({}) |",
            timed[0].rate(text.len()),
            rate(others[0]),
            rate(others[1]),
            ratio(others[0]),
            ratio(others[1]),
            timed[1].rate(json.len()),
            short(here),
        );
        drop(contenders);
        let _ = std::fs::remove_file(file);
    }
    println!();
}
