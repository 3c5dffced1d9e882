//! The common tool: its arguments and its answer.

/// A correct call of a model.
pub const JSON: &str = r#"{"pattern":"*.rs","case_sensitive":false,"max_results":25}"#;

/// Runs the body of the function, equal for all contestants, and returns a small JSON text.
#[inline(always)]
pub fn answer(pattern: &str, case_sensitive: bool, max_results: i64) -> String {
    format!(
        r#"{{"pattern":"{pattern}","case_sensitive":{case_sensitive},"max_results":{max_results},"matches":2}}"#
    )
}

/// Returns the default of `case_sensitive`.
pub fn yes() -> bool {
    true
}

/// Returns the default of `max_results`.
pub fn hundred() -> i64 {
    100
}
