//! Speed with malicious texts in three sizes. The time per byte must not grow with the size.

use tool_runtime::repair::{Status, repair};

use crate::clock::{short, side_by_side, work};

#[path = "../../tests/repair/shapes.rs"]
mod shapes;

const GOAL: f64 = 60.0;
const LEVELS: usize = 1_000_000;

pub fn run() {
    println!("## Malicious texts\n");
    println!("Nanoseconds per byte, slowest first. The goal is ≤ {GOAL} in every size.\n");
    let sizes = [("10 KB", 10_000), ("1 MB", 1_000_000), ("10 MB", 10_000_000)];
    println!(
        "| shape | becomes | {} |",
        sizes.map(|(name, _)| name).join(" | ")
    );
    println!("|---|---|{}", "---|".repeat(sizes.len()));
    let mut rows: Vec<(f64, String)> = shapes::SHAPES
        .iter()
        .map(|shape| {
            let figures = sizes.map(|(_, bytes)| per_byte(&shape.text(bytes)));
            let worst = figures.into_iter().fold(0.0, f64::max);
            let status = repair(&shape.text(sizes[0].1)).status;
            let figures = figures.map(short).join(" | ");
            (
                worst,
                format!("| {} | {} | {figures} |", shape.name, status_name(status)),
            )
        })
        .collect();
    rows.sort_by(|one, other| other.0.total_cmp(&one.0));
    for (_, row) in &rows {
        println!("{row}");
    }
    let missed = rows.iter().filter(|(worst, _)| *worst > GOAL).count();
    println!("\n{} shapes, {missed} of them over the goal.\n", rows.len());
    deep();
}

/// Measures texts with many unclosed levels of nesting.
fn deep() {
    println!("| {LEVELS} levels of | becomes | ms |\n|---|---|---|");
    for unit in ["[", "(", "{'a':"] {
        let text = unit.repeat(LEVELS);
        let took = side_by_side(&mut [work(|| repair(&text))], 5)[0].median() / 1e6;
        println!(
            "| `{unit}` | {} | {} |",
            status_name(repair(&text).status),
            short(took)
        );
    }
    println!();
}

fn per_byte(text: &str) -> f64 {
    side_by_side(&mut [work(|| repair(text))], 3)[0].median() / text.len() as f64
}

fn status_name(status: Status) -> &'static str {
    match status {
        Status::Valid => "valid",
        Status::Repaired => "repaired",
        Status::Truncated => "truncated",
        _ => "refused",
    }
}
