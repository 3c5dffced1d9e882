//! A text in pieces has the result of the whole text, for any pieces, texts and limits. Output is never revised, and no more text than
//! necessary is held.

use serde::de::IgnoredAny;
use tests::long::long;
use tests::random::Random;
use tool_runtime::repair::{Limits, Repaired, Repairer, Status, repair, repair_with};

use crate::random_tokens::any;

/// Repairs the text in pieces of up to `most` bytes, and compares the result with the result of the whole text.
fn assert_equal_in_pieces(text: &str, limits: Limits, most: usize, random: &mut Random) {
    let whole = repair_with(text, limits);
    let mut repairer = Repairer::with(limits);
    let mut passed = String::new();
    let mut rest = text;
    while !rest.is_empty() {
        let mut end = (1 + random.below(most)).min(rest.len());
        while !rest.is_char_boundary(end) {
            end += 1;
        }
        let (piece, behind) = rest.split_at(end);
        passed.push_str(repairer.push(piece));
        assert!(whole.text.starts_with(&passed), "{limits:?} took back: {text}");
        rest = behind;
    }
    let finished = repairer.finish();
    passed.push_str(&finished.rest);
    assert_eq!(passed, whole.text, "{limits:?}: {text}");
    let finished = (finished.status, finished.fixes, finished.reason);
    assert_eq!(
        finished,
        (whole.status, whole.fixes, whole.reason),
        "{limits:?}: {text}"
    );
}

/// Checks the properties of every result.
fn assert_kept_its_promise(text: &str, repaired: &Repaired<'_>) {
    let changed = repaired.status == Status::Repaired;
    assert_eq!(repaired.fixes.is_empty(), !changed, "{text}");
    let explained = matches!(repaired.status, Status::Truncated | Status::Refused);
    assert_eq!(repaired.reason.is_some(), explained, "{text}");
    if changed {
        assert!(
            serde_json::from_str::<IgnoredAny>(&repaired.text).is_ok(),
            "{text} became {}",
            repaired.text
        );
        let again = repair(&repaired.text);
        assert_eq!(
            (again.status, &again.text),
            (Status::Valid, &repaired.text),
            "{text}"
        );
    } else {
        assert_eq!(repaired.text, text);
    }
    if let Some(reason) = &repaired.reason {
        assert!(reason.offset <= text.len(), "{text}: {reason:?}");
        assert!(!reason.message.contains("no JSON at byte"), "{text}: {reason:?}");
    }
    assert!(
        repaired.fixes.first().iter().all(|fix| fix.offset <= text.len()),
        "{text}"
    );
}

fn rounds(quick: usize) -> usize {
    if long() { quick * 100 } else { quick }
}

#[test]
fn results_do_not_depend_on_the_pieces() {
    let mut random = Random::new(3);
    let mut seen = [0; 4];
    for _ in 0..rounds(20_000) {
        let text = any(&mut random);
        let repaired = repair(&text);
        assert_kept_its_promise(&text, &repaired);
        seen[match repaired.status {
            Status::Valid => 0,
            Status::Repaired => 1,
            Status::Truncated => 2,
            _ => 3,
        }] += 1;
        for most in [1, 9, 60] {
            assert_equal_in_pieces(&text, Limits::default(), most, &mut random);
        }
    }
    assert!(seen.iter().all(|seen| *seen > rounds(500)), "{seen:?}");
}

#[test]
fn limits_do_not_depend_on_the_pieces() {
    let mut random = Random::new(4);
    for _ in 0..rounds(20_000) {
        let text = any(&mut random);
        let limits = Limits {
            depth: 1 + random.below(6),
            held: random.below(60),
            sent: random.below(20),
            space: random.below(5),
            number: random.below(5),
        };
        let repaired = repair_with(&text, limits);
        assert!(repaired.status == Status::Repaired || repaired.text == text);
        for most in [1, 9] {
            assert_equal_in_pieces(&text, limits, most, &mut random);
        }
    }
}

#[test]
fn keeps_truncated_text_unchanged() {
    let mut random = Random::new(5);
    for _ in 0..rounds(2000) {
        let text = any(&mut random);
        let mut repairer = Repairer::new();
        let middle = (0..=text.len() / 2)
            .rfind(|at| text.is_char_boundary(*at))
            .unwrap_or(0);
        let mut passed = String::from(repairer.push(&text[..middle]));
        passed.push_str(repairer.push(&text[middle..]));
        let finished = repairer.cut_off();
        passed.push_str(&finished.rest);
        assert_eq!((finished.status, &passed), (Status::Truncated, &text));
        assert_eq!(finished.reason.map(|reason| reason.offset), Some(text.len()));
    }
}

/// Returns the number of held bytes after each character of the text.
fn held(text: &str, limits: Limits) -> Vec<usize> {
    let mut repairer = Repairer::with(limits);
    let (mut came, mut passed) = (0, 0);
    let mut held = Vec::new();
    for (at, character) in text.char_indices() {
        let piece = &text[at..at + character.len_utf8()];
        came += piece.len();
        passed += repairer.push(piece).len();
        held.push(came - passed);
    }
    held
}

#[test]
fn holds_only_text_that_may_change() {
    for (label, text, digits) in [
        ("a closing quote", r#"["ab" ,1]"#, "100012110"),
        ("a closing quote, then a bracket", r#"["ab" ]"#, "1000120"),
        ("a key's closing quote", r#"{"a" : 1}"#, "000120010"),
        ("a comma in an object", r#"{"a":1 , "b":2}"#, "000101012001010"),
        (
            "a comma behind a digit",
            r#"{"a":"5" , "b":"c" ,"d":""}"#,
            "000100012340010001210010010",
        ),
        ("a bracket that is the root", " [ 1]", "01010"),
        ("a comma in an array", "[1,  2]", "1112310"),
        ("a comma before brackets", "[[], {},[]]", "10012001000"),
        ("a comma before a string", r#"["", "a"]"#, "101120010"),
        ("a short escape", r#""\n\\\"x""#, "010101001"),
        ("a long escape", r#""\u00e9x""#, "012345001"),
        ("a surrogate pair", r#""\ud83d\ude00""#, "01234501234501"),
        ("a number", "[-1.5e+3 ,0]", "112345670110"),
        ("literals", "[true,false,null]", "11230112340112300"),
        ("a number that is the root", "17 \n", "1234"),
        ("a literal that is the root", "true  ", "123456"),
        ("a string that is the root", "\"a\" ", "0012"),
        ("an empty object that is the root", " { } \n", "000123"),
        (
            "nothing else",
            " { \"a\\/\" : [ { } , [ ] ] } ",
            "000001012000000001200000000",
        ),
        ("everything from the first slip on", "[1,'a', 2]", "1112345678"),
    ] {
        let held: String = held(text, Limits::default())
            .iter()
            .map(usize::to_string)
            .collect();
        assert_eq!(held, digits, "{label}: {text}");
    }
}

/// Limits apply to a whole text, too; otherwise the result would depend on the pieces.
#[test]
fn passes_text_unchanged_when_the_held_part_exceeds_the_limit() {
    let mut random = Random::new(6);
    let limits = Limits::default();
    for (before, filling, behind, most) in [
        ("[1,", " ", "]", limits.space),
        ("{\"a\": 1,", "\n", "}", limits.space),
        ("{\"a\": \"b\"", " ", "'c': 1}", limits.space),
        ("{\"a\": \"5\",", " ", "'b': 1}", limits.space),
        ("{}", " ", "{'a': 1}", limits.space),
        ("[1", "0", "_0]", limits.number - 1),
    ] {
        for (length, status) in [
            (1, Status::Repaired),
            (most, Status::Repaired),
            (most + 1, Status::Refused),
        ] {
            let start = [before, &filling.repeat(length)].concat();
            let last = *held(&start, limits).last().unwrap_or(&0);
            assert_eq!(last > 0, status == Status::Repaired, "{start}");
            let text = [&start, behind].concat();
            assert_eq!(repair(&text).status, status, "{text}");
            assert_equal_in_pieces(&text, limits, 1, &mut random);
            assert_equal_in_pieces(&text, limits, 100, &mut random);
        }
    }
    let spaced = ["[\"a\"", &" ".repeat(limits.space)].concat();
    assert_eq!(held(&spaced, limits).last(), Some(&(1 + limits.space)));
}

#[test]
fn reports_no_held_bytes_for_text_that_is_not_kept() {
    let limits = Limits {
        sent: 10,
        ..Limits::default()
    };
    let why = |text: &str| repair_with(text, limits).reason.map(|reason| reason.message);
    let too_long = "the text before is too long and was not kept";
    // An equal string that is short enough to be kept, with an unambiguous backslash.
    assert_eq!(why(r#"{"a": "x\d"}"#), None);
    assert_eq!(why(r#"{"a": "xxxxxxxxxx\d"}"#).as_deref(), Some(too_long));
    assert_eq!(why(r#"{"a": "xx\\xxxxxx\d"}"#).as_deref(), Some(too_long));
    assert_eq!(why(r#"{"a": "xxxxxxxxxx\d", 'b': 1}"#).as_deref(), Some(too_long));
    // A quote that may be part of the text requires more input.
    assert!(why(r#"{"a": "xxxxxxxxxx say "hi" and \d"}"#).is_some());
}
