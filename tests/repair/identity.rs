//! Valid JSON is returned unchanged and borrowed. An independent JSON parser decides validity.

use std::borrow::Cow;

use serde::de::IgnoredAny;
use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::{Status, repair};

use crate::json_spellings::document;
use crate::pieces::in_pieces;
use crate::random_tokens::mutated;

/// Returns the number of tested texts; `REPAIR_LONG=1` tests many more.
fn rounds(quick: usize) -> usize {
    if long() { quick * 100 } else { quick }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

fn assert_untouched(text: &str) {
    let repaired = repair(text);
    assert_eq!(repaired.status, Status::Valid, "{text}");
    assert!(matches!(repaired.text, Cow::Borrowed(same) if std::ptr::eq(same, text)));
    assert!(repaired.fixes.is_empty() && repaired.reason.is_none());
}

#[test]
fn keeps_valid_json_unchanged() {
    let deep = ["[".repeat(1000), "]".repeat(1000)].concat();
    for text in [
        r#"{"a":[1,-0.5e+3,true,false,null],"a":"\ud800 \u00e9\/"}"#,
        " [ ] \r\n",
        " { } \t",
        "\"x\"",
        "\"\"",
        "-0",
        "null",
        "123456789012345678901234567890123456789012345678901234567890123456789012345678901234567890.5e99999",
        &["[1,", &" ".repeat(5000), "2]"].concat(),
        &["{}", &" ".repeat(5000)].concat(),
        &deep,
    ] {
        assert_untouched(text);
        assert_eq!(in_pieces(text, || 1).0, text);
    }
}

#[test]
fn keeps_random_json_unchanged_at_once_and_in_pieces() {
    let mut random = Random::new(1);
    for _ in 0..rounds(3000) {
        let text = document(&mut random);
        assert!(is_json(&text), "{text}");
        assert_untouched(&text);
        for most in [1, 20, 500] {
            let (pieced, finished) = in_pieces(&text, || 1 + random.below(most));
            assert_eq!((finished.status, &pieced), (Status::Valid, &text));
            assert!(finished.fixes.is_empty() && finished.reason.is_none());
        }
    }
}

#[test]
fn accepts_as_valid_exactly_the_texts_of_another_parser() {
    let mut random = Random::new(2);
    let (mut valid, mut invalid) = (0, 0);
    for _ in 0..rounds(20_000) {
        let source = document(&mut random);
        let text = mutated(&source, &mut random);
        assert_eq!(repair(&text).status == Status::Valid, is_json(&text), "{text}");
        *(if is_json(&text) { &mut valid } else { &mut invalid }) += 1;
    }
    assert!(
        valid > rounds(500) && invalid > rounds(5000),
        "{valid} and {invalid}"
    );
}
