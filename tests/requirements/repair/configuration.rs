//! The block `format_fixing` of a configuration.

use serde_json::json;
use tool_runtime::repair::{FormatFixing, Status, TargetTools};

use crate::requirements::tracing_events::EventCount;

use super::{RIGHT, WRONG, arguments, every_tool, repaired, repaired_example, stream};

/// R-CFG-1
#[test]
fn defaults() {
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
    assert_eq!(
        serde_json::from_value::<FormatFixing>(json!({})).unwrap(),
        FormatFixing::default()
    );
}

/// R-CFG-2
#[test]
fn enabled_turns_the_repair_off() {
    let off = FormatFixing {
        enabled: false,
        ..every_tool()
    };
    let text = stream("TodoWrite", &[WRONG], "tool_calls");
    assert_eq!(repaired(&text, off), (text, vec![]));
}

/// R-CFG-3
#[test]
fn target_tools_selects_the_tools() {
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

/// R-CFG-4
#[test]
fn strict_validation_checks_the_result() {
    let (out, records) = repaired_example(FormatFixing {
        strict_validation: false,
        ..FormatFixing::default()
    });
    assert_eq!(arguments(&out), RIGHT);
    assert!(!records[0].validated);
}

/// R-CFG-5
#[test]
fn fallback_on_error_sends_the_original_or_an_error() {
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

/// R-CFG-6
#[test]
fn debug_logging_logs_every_fix() {
    let counted = EventCount::at(tracing::Level::DEBUG);
    let guard = counted.collect();
    repaired_example(FormatFixing::default());
    assert_eq!(counted.count(), 0);
    repaired_example(FormatFixing {
        debug_logging: true,
        ..FormatFixing::default()
    });
    drop(guard);
    assert_eq!(counted.count(), 6, "an event for each fix");
}
