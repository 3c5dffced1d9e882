//! § 3 of 实现架构: the block `format_fixing`.

use serde_json::json;
use tool_runtime::repair::{FormatFixing, Status, TargetTools};

use crate::warnings::Collected;

use super::{RIGHT, WRONG, arguments, every_tool, example_in_a_stream, repaired, stream};

#[test]
fn configuration_defaults() {
    let written = serde_json::to_value(FormatFixing::default()).unwrap();
    assert_eq!(
        written,
        json!({
            "enabled": true,
            "target_tools": ["TodoWrite"],
            "strict_validation": true,
            "fallback_on_error": true,
            "debug_logging": false,
        })
    );
    assert_eq!(
        serde_json::from_value::<FormatFixing>(written).unwrap(),
        FormatFixing::default()
    );
}

#[test]
fn configuration_key_enabled() {
    let off = FormatFixing {
        enabled: false,
        ..every_tool()
    };
    let text = stream("TodoWrite", &[WRONG], "tool_calls");
    assert_eq!(repaired(&text, off), (text, vec![]));
}

#[test]
fn configuration_key_target_tools() {
    let text = stream("Search", &[WRONG], "tool_calls");
    assert_eq!(repaired(&text, FormatFixing::default()).0, text);
    let named = FormatFixing {
        target_tools: TargetTools::named(["Search"]),
        ..FormatFixing::default()
    };
    for fixing in [named, every_tool()] {
        assert_eq!(arguments(&repaired(&text, fixing).0), RIGHT);
    }
}

#[test]
fn configuration_key_strict_validation() {
    let (out, records) = example_in_a_stream(FormatFixing {
        strict_validation: false,
        ..FormatFixing::default()
    });
    assert_eq!(arguments(&out), RIGHT);
    assert!(!records[0].validated);
}

#[test]
fn configuration_key_fallback_on_error() {
    let text = stream("TodoWrite", &["{'a': f'{x}'}"], "tool_calls");
    let off = FormatFixing {
        fallback_on_error: false,
        ..FormatFixing::default()
    };
    let (out, records) = repaired(&text, off);
    assert!(!out.contains("f'{x}'"), "{out}");
    let last = out
        .trim_end()
        .lines()
        .rev()
        .find(|line| line.contains("error"))
        .unwrap();
    let error: serde_json::Value = serde_json::from_str(last.strip_prefix("data: ").unwrap()).unwrap();
    assert!(
        error["error"]["message"].as_str().unwrap().contains("TodoWrite"),
        "{error}"
    );
    assert_eq!(records[0].status, Status::Refused);
}

#[test]
fn configuration_key_debug_logging() {
    let counted = Collected::at(tracing::Level::DEBUG);
    let guard = counted.collect();
    example_in_a_stream(FormatFixing::default());
    assert_eq!(counted.count(), 0);
    example_in_a_stream(FormatFixing {
        debug_logging: true,
        ..FormatFixing::default()
    });
    drop(guard);
    assert_eq!(counted.count(), 6, "one for each fix");
}
