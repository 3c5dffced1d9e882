//! A correct call of a small tool.

use peers::clock::{Timed, side_by_side};
use peers::row::Row;
use peers::rows;
use peers::{floors, ours};

const ROUNDS: usize = 205;

/// Row of the floor with which a registry is compared.
const FLOOR: usize = 1;

pub fn run() {
    println!("## A correct call\n\nns a call: the median of {ROUNDS} rounds, and its quartiles.\n");
    println!("| called through | from `&str` | × the map's | from `Value` | × the map's |");
    println!("|---|---|---|---|---|");
    let rows = rows::all();
    let names: Vec<_> = rows.iter().map(|row| (row.name, row.conversions)).collect();
    let timed = timed(rows);
    for ((name, _), [text, value]) in names.iter().zip(&timed) {
        let [floor_text, floor_value] = &timed[FLOOR];
        println!(
            "| {name} | {} | {} | {} | {} |",
            text.spread(),
            text.over(floor_text).spread(),
            value.spread(),
            value.over(floor_value).spread(),
        );
    }
    println!("\nWith what a user has to do for it, which is counted:\n");
    for (name, [text, value]) in names.into_iter().filter(|(_, it)| *it != ["", ""]) {
        let value = if value.is_empty() { "nothing" } else { value };
        println!("- {name}, from `&str`: {text}; from `Value`: {value}");
    }
    println!();
    registered();
}

/// Returns the time of a call among many tools.
fn registered() {
    println!("| registered tools | map, from `&str` | tool-runtime, from `&str` | from `Value` |");
    println!("|---|---|---|---|");
    let counts = [10, 1000];
    let rows = counts.map(|count| [floors::behind_a_map(count - 1), ours::everything_on(count - 1)]);
    let timed = timed(rows.into_iter().flatten().collect());
    for (count, pair) in counts.iter().zip(timed.chunks(2)) {
        println!(
            "| {count} | {} | {} | {} |",
            pair[0][0].spread(),
            pair[1][0].spread(),
            pair[1][1].spread(),
        );
    }
    let grown = |row: usize, input: usize| timed[2 + row][input].over(&timed[row][input]).spread();
    println!(
        "| ratio | {} | {} | {} |\n",
        grown(0, 0),
        grown(1, 0),
        grown(1, 1)
    );
}

/// Measures every row from text and from a value, in turn.
fn timed(rows: Vec<Row>) -> Vec<[Timed; 2]> {
    let mut contenders: Vec<_> = rows
        .into_iter()
        .flat_map(|row| [row.from_text, row.from_value])
        .collect();
    let mut timed = side_by_side(&mut contenders, ROUNDS).into_iter();
    std::iter::from_fn(|| Some([timed.next()?, timed.next()?])).collect()
}
