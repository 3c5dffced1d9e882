//! The chapters: each is in the list and leads to the next, and every block of Rust in them is a test.

use std::fs;

use crate::{file, text};

pub const GUIDE: &str = "tool-runtime/src/guide";

/// The chapters in their order, as `mod.rs` declares them.
pub fn chapters() -> Vec<String> {
    let list = text(&format!("{GUIDE}/mod.rs"));
    let declared = list.lines().filter_map(|line| line.strip_prefix("pub mod "));
    declared
        .map(|name| name.trim_end_matches(';').to_owned())
        .collect()
}

#[test]
fn every_chapter_is_listed_and_links_to_the_next() {
    let chapters = chapters();
    assert!(chapters.len() >= 12);
    let list = text(&format!("{GUIDE}/mod.rs"));
    for (place, chapter) in chapters.iter().enumerate() {
        let number = place + 1;
        assert!(
            chapter.starts_with(&format!("_{number}_")),
            "{chapter} is number {number}"
        );
        assert!(
            list.contains(&format!("//! | [{number}. ")) && list.contains(&format!("]({chapter}) |")),
            "the table in {GUIDE}/mod.rs has no row for {chapter}"
        );
        if let Some(next) = chapters.get(number) {
            let text = text(&format!("{GUIDE}/{chapter}.rs"));
            let lead = text
                .lines()
                .rfind(|line| line.starts_with("//! Next: "))
                .unwrap_or_default();
            assert!(
                lead.contains(&format!("(super::{next})")),
                "{chapter} does not end with the way to {next}"
            );
        }
    }
}

/// What is shown and not run goes out of date in silence.
#[test]
fn every_rust_block_is_run() {
    let mut blocks = 0;
    for entry in fs::read_dir(file(GUIDE)).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let chapter = fs::read_to_string(&path).unwrap();
        let fences = chapter.lines().filter_map(|line| {
            let attribute = line
                .strip_prefix("#![doc = \"")
                .map(|rest| rest.trim_end_matches("\"]"));
            attribute.or(line.strip_prefix("//! "))?.strip_prefix("```")
        });
        for (place, words) in fences.enumerate() {
            assert!(
                ["", "compile_fail", "toml", "sh", "text"].contains(&words),
                "{}: a block with `{words}` is no test; show what runs",
                path.display()
            );
            assert!(place % 2 == 0 || words.is_empty(), "{}", path.display());
            blocks += usize::from(place % 2 == 0 && words.is_empty());
        }
    }
    assert!(blocks >= 30, "only {blocks} blocks");
}
