//! Texts for the model about failed calls and changed arguments.

use std::collections::HashSet;
use std::fmt::Write as _;

use crate::call::similar::similar;
use crate::call::table::Tools;
use crate::wire::issue::{Code, Issue, excerpt};
use crate::wire::result::Failure;

/// Returns the text for an unknown tool, which R-REG-7 specifies. The note [`known_names`] follows the text. Long names
/// are truncated.
pub(crate) fn not_found(name: &str) -> String {
    format!("Tool '{}' not found", excerpt(name))
}

/// Returns the names of existing tools: all names of a small registry, or the names in a large registry that are similar
/// to the unknown name.
pub(crate) fn known_names(unknown: &str, tools: &Tools) -> Option<String> {
    let names = tools.tools().map(|tool| tool.qualified_name.as_str());
    let (label, names) = if tools.tools().count() <= MAX_LISTED_TOOLS {
        ("available tools", names.collect())
    } else {
        ("similar names", similar(unknown, names))
    };
    (!names.is_empty()).then(|| format!("{label}: `{}`", names.join("`, `")))
}

/// Maximum number of tools for which all names are listed.
const MAX_LISTED_TOOLS: usize = 8;

/// Returns the text for a function that did not complete.
pub(crate) fn failure(tool: &str, failure: Failure) -> String {
    match failure {
        Failure::Panicked => {
            format!("the tool `{tool}` failed with an internal error; other calls are not affected")
        }
        Failure::HostValue => {
            format!("`{tool}` was not called because of an internal error; other calls are not affected")
        }
        Failure::TimedOut => {
            format!("the tool `{tool}` timed out and was stopped; ask for less, or try again later")
        }
        Failure::Cancelled => format!("the call of `{tool}` was cancelled before it returned a result"),
        other => format!("the tool `{tool}` returned no result: {}", other.as_str()),
    }
}

/// Returns the text for a call that was stopped before its function started.
pub(crate) fn stopped_before_start(tool: &str, failure: Failure) -> String {
    let tool = excerpt(tool);
    match failure {
        Failure::TimedOut => {
            format!("the call timed out before `{tool}` started; it did not run, try again later")
        }
        Failure::Cancelled => format!("the call was cancelled before `{tool}` started; it did not run"),
        other => self::failure(&tool, other),
    }
}

/// Returns the text for a call that was stopped in a layer, before it reached the tool.
pub(crate) fn stopped_in_layers(tool: &str, failure: Failure) -> String {
    let tool = excerpt(tool);
    match failure {
        Failure::TimedOut => format!("the call timed out before it reached `{tool}`; try again later"),
        Failure::Cancelled => format!("the call was cancelled before it reached `{tool}`"),
        other => self::failure(&tool, other),
    }
}

/// Returns the text for a denied call: the text of the host, or a default text if the text of the host is blank.
pub(crate) fn denied(tool: &str, text: String) -> String {
    if text.trim().is_empty() {
        format!("`{tool}` was not called because permission was denied")
    } else {
        text
    }
}

/// Returns the text for a call that needs approval.
pub(crate) fn interrupted(tool: &str) -> String {
    format!("`{tool}` was not called because approval is needed; ask the user to approve it")
}

/// Returns the text for a call without a decision.
pub(crate) fn undecided(tool: &str) -> String {
    format!(
        "`{tool}` was not called because its permission could not be checked; other calls are not affected"
    )
}

/// Returns the text for rejected arguments: the errors, and the unknown names, which may be misspelt parameters.
pub(crate) fn errors(tool: &str, errors: &[Issue], warnings: &[Issue]) -> String {
    let mut text = format!("`{tool}` was not called because of invalid arguments:");
    let is_no_match = |error: &&Issue| error.code == Code::NoAlternativeFits;
    let unmatched: HashSet<&str> = errors
        .iter()
        .filter(is_no_match)
        .map(|error| &*error.path)
        .collect();
    // The errors of single alternatives of a union are omitted, since the model could not know which of them to fix.
    let is_listed = |error: &&Issue| is_no_match(error) || !unmatched.contains(&*error.path);
    let is_unknown = |issue: &&Issue| matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty);
    let listed = errors.iter().filter(is_listed);
    list(&mut text, listed.chain(warnings.iter().filter(is_unknown)));
    text
}

/// Appends a line for each issue, up to [`MAX_LISTED`].
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

/// Maximum number of listed issues.
const MAX_LISTED: usize = 50;

/// Returns the note about the warnings of a call.
pub(crate) fn warnings_note(warnings: &[Issue]) -> String {
    let mut note = String::from("Note on the arguments of this call:");
    list(&mut note, warnings.iter());
    note
}

/// Returns the text for the model if the tool and the layers returned no result.
pub(crate) fn no_answer(failure: Failure) -> &'static str {
    match failure {
        Failure::TimedOut => "the call timed out and was stopped; try again later",
        Failure::Cancelled => "the call was cancelled before it returned a result",
        _ => "the call failed outside of the tool; other calls are not affected",
    }
}
