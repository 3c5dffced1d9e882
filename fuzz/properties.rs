//! Properties of every input. The fuzz targets search for counterexamples; the replay of their seeds in `tests/repair/corpus.rs` calls
//! these functions, too.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use tool_runtime::repair::{Finished, Limits, Repaired, Repairer, Status, repair, repair_with};

/// Checks a text: valid JSON stays unchanged, and any other text stays unchanged or becomes valid JSON.
pub fn whole(input: &[u8]) {
    let text = &*String::from_utf8_lossy(input);
    let repaired = repair(text);
    kept_to_its_status(text, &repaired);
    let valid = is_json(text);
    let too_deep = depth(text) > Limits::default().depth;
    assert_eq!(
        repaired.status == Status::Valid,
        valid && !too_deep,
        "{:?}",
        repaired.reason
    );
    if repaired.status == Status::Repaired {
        assert!(is_json(&repaired.text), "became {:?}", repaired.text);
        assert_eq!(repair(&repaired.text).status, Status::Valid, "is repaired again");
    }
    if valid && !too_deep {
        makes_no_message_of_a_part(text);
    }
    let characters = text.char_indices().map(|(at, it)| &text[at..at + it.len_utf8()]);
    same_in_pieces(text, &repaired, Limits::default(), characters);
}

/// Checks that a text in the pieces of [`cut`] has the result of the whole text. The first byte selects the limits.
pub fn chunks(input: &[u8]) {
    let (choice, lengths, rest) = cut(input);
    let text = &*String::from_utf8_lossy(rest);
    let limits = if choice % 2 == 0 {
        Limits::default()
    } else {
        Limits {
            depth: 2 + usize::from(choice / 2 % 4),
            held: if choice & 64 == 0 { 40 } else { 4096 },
            sent: if choice & 128 == 0 { 10 } else { 4096 },
            space: 3,
            number: 4,
        }
    };
    let repaired = repair_with(text, limits);
    kept_to_its_status(text, &repaired);
    if repaired.status == Status::Repaired {
        assert!(is_json(&repaired.text), "became {:?}", repaired.text);
    }
    let pieces = pieces(text, lengths);
    same_in_pieces(text, &repaired, limits, pieces.iter().copied());
    cut_off_is_left_alone(text, limits, &pieces);
}

/// Checks that the record fits the outcome of the text.
fn kept_to_its_status(text: &str, repaired: &Repaired<'_>) {
    let was_repaired = repaired.status == Status::Repaired;
    assert_eq!(
        !repaired.fixes.is_empty(),
        was_repaired,
        "fixes are those of a repair"
    );
    let unfinished = matches!(repaired.status, Status::Truncated | Status::Refused);
    assert_eq!(
        repaired.reason.is_some(),
        unfinished,
        "a reason says why nothing was done"
    );
    if !was_repaired {
        assert!(
            matches!(repaired.text, Cow::Borrowed(same) if same == text),
            "{:?}",
            repaired.text
        );
    }
    let fixed = repaired.fixes.first().iter().map(|fix| fix.offset);
    for offset in fixed.chain(repaired.reason.iter().map(|reason| reason.offset)) {
        assert!(
            text.is_char_boundary(offset),
            "no character begins at byte {offset}"
        );
    }
}

/// Checks that the beginning of a JSON text is never completed or changed, since an incomplete call must not be executed.
fn makes_no_message_of_a_part(text: &str) {
    let step = 1 + text.len() / 16;
    for end in (0..text.len())
        .step_by(step)
        .filter(|end| text.is_char_boundary(*end))
    {
        let part = &text[..end];
        let expected = if is_json(part) {
            Status::Valid
        } else {
            Status::Truncated
        };
        assert_eq!(repair(part).status, expected, "of {part:?}");
    }
}

fn same_in_pieces<'a>(
    text: &str,
    whole: &Repaired<'_>,
    limits: Limits,
    pieces: impl Iterator<Item = &'a str>,
) {
    let mut repairer = Repairer::with(limits);
    let mut passed = String::new();
    for piece in pieces {
        passed.push_str(repairer.push(piece));
        assert!(text.starts_with(&passed), "{passed:?} was passed on");
        assert!(
            whole.text.starts_with(&passed),
            "{passed:?} was passed on too early"
        );
    }
    let Finished {
        rest,
        status,
        fixes,
        reason,
        ..
    } = repairer.finish();
    passed.push_str(&rest);
    assert_eq!(passed, whole.text, "in pieces, and whole");
    assert_eq!(
        (status, &fixes, &reason),
        (whole.status, &whole.fixes, &whole.reason),
        "in pieces, and whole"
    );
}

fn cut_off_is_left_alone(text: &str, limits: Limits, pieces: &[&str]) {
    let mut repairer = Repairer::with(limits);
    let mut passed: String = pieces
        .iter()
        .map(|piece| repairer.push(piece).to_owned())
        .collect();
    let finished = repairer.cut_off();
    passed.push_str(&finished.rest);
    assert_eq!((finished.status, &*passed), (Status::Truncated, text), "cut off");
}

/// Splits an input into a choice, the lengths of the pieces (used repeatedly, in order), and the rest. The choice is one byte, followed by
/// one byte for the number of lengths (up to 15), and one byte for each length.
pub fn cut(input: &[u8]) -> (u8, &[u8], &[u8]) {
    let [choice, count, rest @ ..] = input else {
        return (0, &[], input);
    };
    let (lengths, rest) = rest.split_at(usize::from(count % 16).min(rest.len()));
    (*choice, lengths, rest)
}

/// Splits the text into pieces of these lengths in bytes, extended to character boundaries.
pub fn pieces<'a>(text: &'a str, lengths: &[u8]) -> Vec<&'a str> {
    let mut found = Vec::new();
    let mut left = text;
    if lengths.iter().any(|length| *length > 0) {
        for length in lengths.iter().cycle() {
            let end = (usize::from(*length)..left.len()).find(|end| left.is_char_boundary(*end));
            let Some(end) = end else { break };
            let (piece, rest) = left.split_at(end);
            found.push(piece);
            left = rest;
        }
    }
    found.push(left);
    found
}

/// Returns whether another, non-recursive parser accepts the text as JSON.
pub fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Maximum number of open containers of a JSON text.
fn depth(text: &str) -> usize {
    let (mut now, mut most, mut string, mut escaped) = (0_usize, 0, false, false);
    for byte in text.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if string => escaped = true,
            b'"' => string = !string,
            b'{' | b'[' if !string => {
                now += 1;
                most = most.max(now);
            }
            b'}' | b']' if !string => now = now.saturating_sub(1),
            _ => {}
        }
    }
    most
}
