//! Speed with valid JSON, which is only scanned, compared with another parser that only scans.

use serde::de::IgnoredAny;
use tool_runtime::repair::{Status, repair};

use crate::clock::{rounds, side_by_side, work};
use crate::texts;

const GOAL: f64 = 0.8;

pub fn run() {
    println!("## Valid JSON\n\nMB/s: the median of all rounds, and its quartiles.\n");
    println!("| text | size | `repair` | `serde_json` into `IgnoredAny` | ratio | goal |");
    println!("|---|---|---|---|---|---|");
    let kinds: [(&str, fn(usize) -> String); 3] = [
        ("todo list", texts::todos),
        ("one long string", texts::long_string),
        ("one string with escapes", texts::source_file),
    ];
    for (kind, text) in kinds {
        for (size, bytes) in texts::SIZES {
            let text = text(bytes);
            assert_eq!(repair(&text).status, Status::Valid);
            let timed = side_by_side(
                &mut [
                    work(|| repair(&text)),
                    work(|| serde_json::from_str::<IgnoredAny>(&text)),
                ],
                rounds(bytes),
            );
            println!(
                "| {kind} | {size} | {} | {} | {:.2} | ≥ {GOAL} |",
                timed[0].rate(text.len()),
                timed[1].rate(text.len()),
                timed[0].times_as_fast_as(&timed[1]),
            );
        }
    }
    println!();
}
