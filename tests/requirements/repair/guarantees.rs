//! Guarantees of a repair: the result is valid and complete, or the text is unchanged.

use std::borrow::Cow;
use std::time::Duration;

use tests::clock::Clock;
use tool_runtime::repair::{FormatFixing, Repairer, Status, repair};

use super::{WRONG, repaired_example};

/// R-REP-16
#[test]
fn passes_valid_text_at_once() {
    let mut repairer = Repairer::new();
    assert_eq!(
        repairer.push(r#"{"todos": [{"content": "x"#),
        r#"{"todos": [{"content": "x"#
    );
    assert_eq!(repairer.push(r#"y", "#), r#"y""#);
    assert_eq!(repairer.push(r#""id": 1}]}"#), r#", "id": 1}]}"#);
    assert_eq!(repairer.finish().status, Status::Valid);
}

/// R-REP-15
#[test]
fn valid_text_is_not_copied() {
    let text = r#"{"todos": []}"#;
    assert!(matches!(repair(text).text, Cow::Borrowed(same) if std::ptr::eq(same, text)));
}

/// R-REP-12
#[test]
fn repaired_text_is_valid_json() {
    for text in [WRONG, "{'a': (1, 2,)}", "{'a': '\u{1}'}", "{'a': 0x1F}"] {
        let repaired = repair(text);
        assert_eq!(repaired.status, Status::Repaired, "{text}");
        serde_json::from_str::<serde::de::IgnoredAny>(&repaired.text).unwrap();
    }
}

/// R-REP-13
#[test]
fn repair_keeps_every_value() {
    let text = "{'n': 123456789012345678901234567890, 'n': 1.50, 'é\u{1f600}': 'a\\tb\\\\c'}";
    assert_eq!(
        repair(text).text,
        "{\"n\": 123456789012345678901234567890, \"n\": 1.50, \"é\u{1f600}\": \"a\\tb\\\\c\"}"
    );
}

/// R-REP-14
#[test]
fn text_that_cannot_be_repaired_is_returned_unchanged() {
    for text in ["{'a': f'{x}'}", "{'a': 'b''c': 'd'}", "{'a': 1]", "{'a': nan}"] {
        let repaired = repair(text);
        assert_eq!((&*repaired.text, repaired.status), (text, Status::Refused));
        assert!(repaired.reason.is_some());
    }
}

/// R-REP-19
#[test]
fn every_fix_is_recorded_with_its_offset() {
    let (_, records) = repaired_example(FormatFixing::default());
    let fixes: Vec<_> = records[0]
        .fixes
        .first()
        .iter()
        .map(|fix| (fix.code.as_str(), fix.offset))
        .collect();
    let first = WRONG.find('\'').unwrap();
    assert_eq!((fixes.len(), fixes[0]), (6, ("single_quotes", first)));
}

/// R-REP-17
#[test]
fn large_text_is_repaired_in_time() {
    let item = "{'content': 'Set up the project: 日本語', 'id': '1', 'status': 'in_progress'}";
    let text = format!("{{'todos': [{}]}}", [item; 10_000].join(", "));
    let clock = Clock::start();
    assert_eq!(repair(&text).status, Status::Repaired);
    let worked = clock.worked();
    assert!(worked < Duration::from_secs(5), "{worked:?}");
}

/// R-REP-16
#[test]
fn time_is_linear_in_the_number_of_pieces() {
    let took = |items: usize| {
        let text = format!(
            r#"{{"todos": [{}]}}"#,
            vec![r#"{"content": "x"}"#; items].join(", ")
        );
        let clock = Clock::start();
        let mut repairer = Repairer::new();
        let mut passed_on = String::new();
        for character in text.chars() {
            passed_on.push_str(repairer.push(character.encode_utf8(&mut [0; 4])));
        }
        assert!(text.starts_with(&passed_on) && passed_on.len() > text.len() / 2);
        assert_eq!(repairer.finish().status, Status::Valid);
        clock.worked()
    };
    // The resolution of the system's clock is limited.
    let few = (0..3)
        .map(|_| took(500))
        .min()
        .unwrap()
        .max(Duration::from_millis(2));
    let many = (0..3).map(|_| took(32_000)).min().unwrap();
    // Quadratic time would be 4096 times as much.
    assert!(many < few * 64 * 6, "{few:?}, and for 64 times as many {many:?}");
}
