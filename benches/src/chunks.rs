//! Speed with text in pieces of 20 bytes, as models stream it, compared with the whole text.

use tool_runtime::repair::{Repairer, Status, repair};

use crate::clock::{rounds, short, side_by_side, work};
use crate::texts;

const LENGTH: usize = 20;

pub fn run() {
    println!("## In pieces of {LENGTH} bytes\n");
    println!(
        "| text | size | in pieces, MB/s | whole, MB/s | ratio | whole and a copy of the pieces | ns a push | goal |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    let kinds: [(&str, fn(usize) -> String, &str); 3] = [
        ("todo list, `repr`", texts::todos_repr, "ratio ≥ 1"),
        ("todo list, JSON", texts::todos, "≥ 400 MB/s or ≤ 25 ns"),
        (
            "one long string, JSON",
            texts::long_string,
            "≥ 400 MB/s or ≤ 25 ns",
        ),
    ];
    for (kind, text, goal) in kinds {
        for (size, bytes) in texts::SIZES {
            let text = text(bytes);
            let pieces = texts::pieces(&text, LENGTH);
            let timed = side_by_side(
                &mut [
                    work(|| pushed(&pieces)),
                    work(|| repair(&text)),
                    work(|| (kept(&pieces), repair(&text))),
                ],
                rounds(bytes),
            );
            println!(
                "| {kind} | {size} | {} | {} | {:.2} | {:.2} | {} | {goal} |",
                timed[0].rate(text.len()),
                timed[1].rate(text.len()),
                timed[0].times_as_fast_as(&timed[1]),
                timed[0].times_as_fast_as(&timed[2]),
                short(timed[0].median() / pieces.len() as f64),
            );
        }
    }
    println!();
}

/// Forwards all bytes and counts them.
fn pushed(pieces: &[&str]) -> (usize, Status) {
    let mut repairer = Repairer::new();
    let mut passed = 0;
    for piece in pieces {
        passed += std::hint::black_box(repairer.push(piece)).len();
    }
    let finished = repairer.finish();
    (passed + finished.rest.len(), finished.status)
}

/// Copies each piece into one text, which is the minimum work of a repair of a text in pieces.
fn kept(pieces: &[&str]) -> String {
    let mut text = String::new();
    for piece in pieces {
        text.push_str(std::hint::black_box(piece));
    }
    text
}
