//! Tests that the tables of chapter 12 of the guide explain the whole expansion. When the macro's output changes, the test names the outdated row, and the
//! code that no row explains.

use crate::text;

const CHAPTER: &str = "docs/guide/12_expansion.md";

#[test]
fn every_line_of_a_function_is_explained() {
    let snapshot = text("tool-macros/tests/expansion/two_parameters.expanded.rs");
    let gaps = unexplained(&snapshot, &rows("| a function's expansion |"));
    let unexplained_code: Vec<&String> = gaps
        .iter()
        .filter(|code| code.contains(char::is_alphanumeric))
        .collect();
    assert!(
        unexplained_code.is_empty(),
        "no row in {CHAPTER} explains this part of the expansion: {unexplained_code:#?}"
    );
}

#[test]
fn explained_keys_are_in_the_expansion() {
    let snapshot = text("tool-macros/tests/expansion/real_tool.expanded.rs");
    unexplained(&snapshot, &rows("| a real tool's expansion |"));
}

/// The table for a family of functions explains only the code that differs.
#[test]
fn explained_methods_are_in_the_expansion() {
    let snapshot = text("tool-macros/tests/expansion/methods.expanded.rs");
    unexplained(&snapshot, &rows("| a family's expansion |"));
}

/// Returns the text between the explained pieces, which must occur in order.
fn unexplained(snapshot: &str, rows: &[String]) -> Vec<String> {
    let mut rest = without_white_space(snapshot);
    let mut gaps = Vec::new();
    for row in rows {
        let piece = without_white_space(row.trim_end_matches(','));
        let place = rest.find(&piece).unwrap_or_else(|| {
            panic!("{CHAPTER} explains `{row}`, which the expansion does not have (there, or at all); change the row")
        });
        gaps.push(rest[..place].to_owned());
        rest = rest[place + piece.len()..].to_owned();
    }
    gaps.push(rest);
    gaps
}

/// Removes white space and trailing commas, which depend on the line length.
fn without_white_space(code: &str) -> String {
    let code: String = code.split_whitespace().collect();
    code.replace(",)", ")").replace(",}", "}")
}

/// Returns the code in the first column of the table with this heading.
fn rows(heading: &str) -> Vec<String> {
    let chapter = text(CHAPTER);
    let (_, table) = chapter
        .split_once(heading)
        .unwrap_or_else(|| panic!("{CHAPTER} has no table `{heading}`"));
    let rows: Vec<String> = table
        .lines()
        .skip(2)
        .map_while(|line| line.strip_prefix("| "))
        .map(code)
        .collect();
    assert!(!rows.is_empty());
    rows
}

/// Returns the code span at the beginning of a row: between single backticks, or between double backticks if the code contains any.
fn code(row: &str) -> String {
    let fence = if row.starts_with("``") { "``" } else { "`" };
    let code = row.strip_prefix(fence).and_then(|row| row.split_once(fence));
    let (code, _) = code.unwrap_or_else(|| panic!("a row begins with code: {row}"));
    code.replace("\\|", "|")
}
