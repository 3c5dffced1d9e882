//! What the model reads about a call that went wrong, and about arguments that were changed.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::call::similar::similar;
use crate::tool::table::Tools;
use crate::wire::issue::{Code, Issue, excerpt};
use crate::wire::result::Failure;

/// Seed 000, F-007: the text is fixed; what helps is a note behind it, [`known_names`]. A name too long for any tool is cut,
/// as all that is echoed.
pub(crate) fn not_found(name: &str) -> String {
    format!("Tool '{}' not found", excerpt(name))
}

/// Which names there are instead of an unknown one: all, if they are few, else those that are similar.
pub(crate) fn known_names(unknown: &str, tools: &Tools) -> Option<String> {
    let names = tools.tools().map(|tool| tool.name.as_str());
    let (label, names) = if tools.tools().count() <= MAX_LISTED_TOOLS {
        ("available tools", names.collect())
    } else {
        ("similar names", similar(unknown, names))
    };
    (!names.is_empty()).then(|| format!("{label}: `{}`", names.join("`, `")))
}

/// A list of so many is read by a model, and costs little.
const MAX_LISTED_TOOLS: usize = 8;

/// What the model reads when the function gave no answer of its own.
pub(crate) fn failure(tool: &str, failure: Failure) -> String {
    match failure {
        Failure::Panicked => format!("the tool `{tool}` failed inside; other calls are not affected"),
        Failure::TimedOut => {
            format!("the tool `{tool}` took too long and was stopped; ask for less, or try again later")
        }
        Failure::Cancelled => format!("the call of `{tool}` was cancelled before it had an answer"),
        other => format!("the tool `{tool}` gave no answer: {}", other.as_str()),
    }
}

/// The same when the function did not even start.
pub(crate) fn stopped_before_start(tool: &str, failure: Failure) -> String {
    let tool = excerpt(tool);
    match failure {
        Failure::TimedOut => {
            format!("the call ran out of time before `{tool}` could start; it did not run, try again later")
        }
        Failure::Cancelled => format!("the call was cancelled before `{tool}` could start; it did not run"),
        other => self::failure(&tool, other),
    }
}

/// The same when no layer passed the call on in time. What the layers did meanwhile, nobody here knows.
pub(crate) fn stopped_in_layers(tool: &str, failure: Failure) -> String {
    let tool = excerpt(tool);
    match failure {
        Failure::TimedOut => format!("the call ran out of time before it reached `{tool}`; try again later"),
        Failure::Cancelled => format!("the call was cancelled before it reached `{tool}`"),
        other => self::failure(&tool, other),
    }
}

/// What the model reads when its arguments were refused: the errors, and the names that nothing has, since a name
/// that is missing may be among them.
pub(crate) fn errors(tool: &str, errors: &[Issue], warnings: &[Issue]) -> String {
    let mut text = format!("`{tool}` was not called, its arguments need correction:");
    let is_no_match = |error: &&Issue| error.code == Code::NoAlternativeFits;
    let unmatched: HashSet<&str> = errors
        .iter()
        .filter(is_no_match)
        .map(|error| &*error.path)
        .collect();
    // What one alternative has against the same value says less, and a model would have to guess which line to follow.
    let is_listed = |error: &&Issue| is_no_match(error) || !unmatched.contains(&*error.path);
    let is_unknown = |issue: &&Issue| matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty);
    let listed = errors.iter().filter(is_listed);
    list(&mut text, listed.chain(warnings.iter().filter(is_unknown)));
    text
}

/// A line for each finding; of very many the first, which say enough to start over.
fn list<'i>(text: &mut String, issues: impl Iterator<Item = &'i Issue> + Clone) {
    for issue in issues.clone().take(MAX_LISTED) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {issue}");
    }
    let more = issues.skip(MAX_LISTED).count();
    if more > 0 {
        let _ = write!(text, "\n- and {more} more");
    }
}

/// More lines than this help no model.
const MAX_LISTED: usize = 50;

/// The note on what was changed in the arguments of a call.
pub(crate) fn warnings_note(warnings: &[Issue]) -> String {
    let mut note = String::from("Note on the arguments of this call:");
    list(&mut note, warnings.iter());
    note
}
