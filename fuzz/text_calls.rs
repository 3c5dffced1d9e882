//! Properties of every text that may have calls, in any pieces.

use serde_json::Value;
use tool_runtime::repair::calls::{
    CallLimits, CallScanner, Declared, Format, Formats, ParameterKind, Recovered,
};

use super::properties::{cut, pieces};

/// Tools with short names, which random texts easily have.
#[derive(Clone, Copy)]
struct Tools;

impl Declared for Tools {
    fn is_declared(&self, name: &str) -> bool {
        matches!(name, "f" | "get_weather" | "a.b")
    }

    fn begins_name(&self, start: &str) -> bool {
        ["f", "get_weather", "a.b"]
            .iter()
            .any(|name| name.starts_with(start))
    }

    fn parameter(&self, _: &str, parameter: &str) -> ParameterKind {
        match parameter {
            "city" => ParameterKind::Text,
            "note" => ParameterKind::NullableText,
            "list" => ParameterKind::Container,
            _ => ParameterKind::Other,
        }
    }
}

/// Checks an input in the form of `chunks`. The first byte selects the formats and the limit. Returns the number of recovered calls.
pub fn calls(input: &[u8]) -> usize {
    let (choice, lengths, rest) = cut(input);
    let text = &*String::from_utf8_lossy(rest);
    let chosen = Format::ALL
        .iter()
        .enumerate()
        .filter(|(index, _)| choice >> index & 1 == 0);
    let formats: Formats = chosen.map(|(_, format)| *format).collect();
    let held = if choice & 8 == 0 { 1 << 20 } else { 60 };
    let limits = CallLimits { held };
    let whole = scan([text], formats, limits);
    is_consistent(text, &whole, formats);
    assert_eq!(
        scan(pieces(text, lengths), formats, limits),
        whole,
        "in pieces, and whole"
    );
    let characters = text.char_indices().map(|(at, it)| &text[at..at + it.len_utf8()]);
    assert_eq!(
        scan(characters, formats, limits),
        whole,
        "in characters, and whole"
    );
    whole.calls.len()
}

/// Scans pieces. Returned text is joined with the rest.
fn scan<'t>(pieces: impl IntoIterator<Item = &'t str>, formats: Formats, limits: CallLimits) -> Recovered {
    let mut scanner = CallScanner::with_limits(Tools, formats, limits);
    let mut text = String::new();
    for piece in pieces {
        text.push_str(scanner.push(piece));
    }
    let mut recovered = scanner.finish();
    text.push_str(&recovered.text);
    recovered.text = text;
    recovered
}

/// Checks that a text without calls is unchanged, and that calls are of declared tools with objects as arguments.
fn is_consistent(text: &str, recovered: &Recovered, formats: Formats) {
    let Some(format) = recovered.format else {
        assert_eq!(recovered.text, text, "a text without calls is unchanged");
        assert!(recovered.calls.is_empty());
        return;
    };
    assert!(formats.contains(format) && recovered.reason.is_none() && !recovered.calls.is_empty());
    assert!(text.starts_with(&recovered.text) && recovered.text.len() < text.len());
    for call in &recovered.calls {
        assert!(Tools.is_declared(&call.name), "undeclared: {}", call.name);
        assert!(text.contains(&call.name), "invented: {}", call.name);
        // Half a surrogate pair and large exponents are JSON that serde does not accept.
        match serde_json::from_str::<Value>(&call.arguments) {
            Ok(arguments) => assert!(arguments.is_object(), "no object: {}", call.arguments),
            Err(error) => assert!(!error.is_eof(), "{error}: {}", call.arguments),
        }
    }
}
