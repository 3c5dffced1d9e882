//! The end of an error message: that a value may be left out, or that it may not although a text for nothing was sent.

use crate::arguments::rules;
use crate::schema::CompiledSchema;
use crate::wire::issue::{Code, Issue};

/// Adds to the errors about a property whether it may be left out.
pub(in crate::arguments) fn add(compiled: &CompiledSchema, issues: &mut [Issue]) {
    let errors = issues.iter_mut().filter(|issue| issue.is_error());
    for issue in errors.take(MOST).filter(|issue| is_about_value(issue)) {
        let steps: Vec<String> = issue.path.split('/').skip(1).map(unescaped).collect();
        let steps: Vec<&str> = steps.iter().map(String::as_str).collect();
        let words = match compiled.is_required_at(&steps) {
            Some(false) => ", or leave it out",
            Some(true) if issue.code != Code::NullNotAllowed && stands_for_nothing(issue) => {
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

/// A model reads no more errors than these, and each takes a walk through the schema.
const MOST: usize = 1_000;

/// The ends of messages that say already what to leave out.
const ADVICE: [&str; 3] = [" leave it out", "; leave the item out", "; leave one of them out"];

/// Returns whether an error is about the value at its path, and does not say already what to do with the key.
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
    // The ends of messages, since a value that was sent is quoted before.
    let ends_with = |end: &str| issue.message.ends_with(end);
    let is_advised = ADVICE.into_iter().any(ends_with);
    // A branch of a condition may require what the schema itself does not.
    is_of_value && !issue.is_conditional() && !is_advised
}

fn stands_for_nothing(issue: &Issue) -> bool {
    issue.sent().is_some_and(rules::is_null_word)
}

/// Returns a step of an RFC 6901 JSON Pointer.
fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}
