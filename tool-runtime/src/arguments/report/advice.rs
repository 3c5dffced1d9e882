//! Advice at the end of an error message: whether the property can be left out.

use crate::arguments::rules;
use crate::schema::CompiledSchema;
use crate::wire::issue::{Code, Issue};

/// Adds advice to the errors about properties: whether the property can be left out.
pub(in crate::arguments) fn add(compiled: &CompiledSchema, issues: &mut [Issue]) {
    let errors = issues.iter_mut().filter(|issue| issue.is_error());
    for issue in errors.take(MAX_ADVISED).filter(|issue| is_about_value(issue)) {
        let steps: Vec<String> = issue.path.split('/').skip(1).map(unescaped).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let words = match compiled.is_required_at(&steps) {
            Some(false) if ends_with_count(&issue.message) => "; send a valid value or leave it out",
            Some(false) => ", or leave it out",
            Some(true) if issue.code != Code::NullNotAllowed && reads_as_null(issue) => {
                if steps.len() == 1 {
                    "; the parameter is required"
                } else {
                    "; the property is required"
                }
            }
            _ => continue,
        };
        issue.message.to_mut().push_str(words);
    }
}

/// Maximum number of errors with advice. Models read no more errors, and each costs a walk through the schema.
const MAX_ADVISED: usize = 1_000;

/// Ends of messages that already contain advice.
const ADVICE: [&str; 3] = [" leave it out", "; leave the item out", "; leave one of them out"];

/// Returns whether an error is about the value at its path, without advice on leaving out its key.
fn is_about_value(issue: &Issue) -> bool {
    let is_of_value = !matches!(
        issue.code,
        Code::MissingRequired
            | Code::UnknownParameter
            | Code::UnknownProperty
            | Code::InvalidMapKey
            | Code::ToolNameMismatch
            | Code::TooDeep
            | Code::TooComplex
    );
    // Only the end is compared, since the message quotes the value before it.
    let ends_with = |end: &str| issue.message.ends_with(end);
    let is_advised = ADVICE.into_iter().any(ends_with);
    // A branch of a condition may require an optional property.
    is_of_value && !issue.is_conditional() && !is_advised
}

/// Returns whether a message ends with a count that was received: `expected at least 2 items, got 1`.
fn ends_with_count(message: &str) -> bool {
    let count = message.rsplit_once(", got ").map(|(_, count)| count);
    count.is_some_and(|count| count.bytes().all(|byte| byte.is_ascii_digit()))
}

fn reads_as_null(issue: &Issue) -> bool {
    issue.sent().is_some_and(rules::is_null_word)
}

/// Unescapes a step of an RFC 6901 JSON Pointer.
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
