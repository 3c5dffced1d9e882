//! Repairs a text in pieces, for the comparison with the whole text.

use tool_runtime::repair::{Finished, Repairer, Status, repair};

/// Repairs a text in pieces, whose lengths `length` returns. Returns the outcome.
pub fn in_pieces(text: &str, mut length: impl FnMut() -> usize) -> (String, Finished) {
    let mut repairer = Repairer::new();
    let mut whole = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = length().clamp(1, rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, behind) = rest.split_at(end);
        whole.push_str(repairer.push(piece));
        rest = behind;
    }
    let finished = repairer.finish();
    whole.push_str(&finished.rest);
    (whole, finished)
}

/// Compares the text in pieces with the whole text.
pub fn assert_equal_in_pieces(text: &str, length: impl FnMut() -> usize) -> Status {
    let whole = repair(text);
    let (pieced, finished) = in_pieces(text, length);
    let start: String = text.chars().take(200).collect();
    assert_eq!(finished.status, whole.status, "{start}");
    assert!(pieced == whole.text, "another text in pieces: {start}");
    assert_eq!(finished.fixes, whole.fixes, "{start}");
    assert_eq!(finished.reason, whole.reason, "{start}");
    whole.status
}
