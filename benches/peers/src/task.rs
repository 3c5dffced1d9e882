//! The tool that everybody has: what it is sent, and what it answers.

/// A correct call, as a model writes it.
pub const JSON: &str = r#"{"pattern":"*.rs","case_sensitive":false,"max_results":25}"#;

/// The function's body, the same for all: a small JSON text.
#[inline(always)]
pub fn answer(pattern: &str, case_sensitive: bool, max_results: i64) -> String {
    format!(
        r#"{{"pattern":"{pattern}","case_sensitive":{case_sensitive},"max_results":{max_results},"matches":2}}"#
    )
}

/// The default of `case_sensitive`.
pub fn yes() -> bool {
    true
}

/// The default of `max_results`.
pub fn hundred() -> i64 {
    100
}
