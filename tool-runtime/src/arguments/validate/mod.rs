//! Enforces the keywords that coercion does not: `not`, `if`, `contains`, `dependentRequired`, `unevaluatedProperties` and their
//! like, and `format`.
//!
//! They never decide what a value is coerced to. They are judged afterwards, on the coerced arguments, by JSON Schema's own rules;
//! and on values as they were sent, where coercion asks which alternatives of a union these match.

pub(super) mod evaluate;
mod messages;
mod walk;

use std::collections::HashSet;

use crate::arguments::report::messages::{too_complex, too_many_unions};
use crate::arguments::report::path::Path;
use crate::arguments::tree::node::Node;
use crate::schema::compiled::CompiledSchema;
use crate::schema::pointer;
use crate::schema::validation::{SubschemaId, Validation};
use crate::wire::issue::{Code, Issue, Severity};
use evaluate::{Evaluator, Stop, Verdicts, address};
use walk::Walk;

/// How much work a call may take: so many subschemas are applied, and for each value in the arguments so many more.
const MAX_WORK: usize = 2_000_000;
const WORK_PER_VALUE: usize = 64;

/// Validates the coerced arguments, with their unknown keys, and adds what it finds to the issues. `is_strict` makes unexpected
/// properties errors.
#[cold]
pub(super) fn validate(
    compiled: &CompiledSchema,
    validation: &Validation,
    arguments: &Node<'_>,
    is_strict: bool,
    issues: &mut Vec<Issue>,
) {
    let mut verdicts = Verdicts::new();
    let work = count(arguments)
        .saturating_mul(WORK_PER_VALUE)
        .saturating_add(MAX_WORK);
    let mut evaluator = Evaluator::new(validation, &mut verdicts, work, 0);
    evaluator.refused = refused(arguments, issues);
    let mut walk = Walk::new(
        compiled,
        evaluator,
        is_strict,
        issues.iter().any(is_of_unknown_key),
    );
    walk.subschema(SubschemaId::ROOT, arguments, &Path::Root, true);
    let Walk {
        evaluator,
        issues: found,
        known,
        ..
    } = walk;
    if let Some(stop) = evaluator.stopped {
        issues.push(match stop {
            Stop::TooDeep => too_many_unions(),
            Stop::TooComplex => too_complex(),
        });
        return;
    }
    issues.retain(|issue| !is_of_unknown_key(issue) || issue.is_error() || !known.contains(&issue.path));
    add(compiled, issues, found);
}

/// Adds what was found, unless the same place has an error already.
fn add(compiled: &CompiledSchema, issues: &mut Vec<Issue>, found: Vec<Issue>) {
    let refused: HashSet<String> = errors(issues).map(|issue| issue.path.clone()).collect();
    let mut seen = HashSet::new();
    let mut is_changed = false;
    for issue in found {
        let message = issue.message.clone();
        let finding = (
            issue.path.clone(),
            issue.code,
            Some(message).filter(|_| !is_of_unknown_key(&issue)),
        );
        if refused.contains(&issue.path) || !seen.insert(finding) {
            continue;
        }
        is_changed = true;
        // A key that coercion has warned of.
        if is_of_unknown_key(&issue)
            && let Some(warning) = issues
                .iter_mut()
                .find(|known| known.code == issue.code && known.path == issue.path)
        {
            if issue.severity == Severity::Error {
                warning.severity = Severity::Error;
            }
            continue;
        }
        let later = |known: &Issue| pointer::is_earlier_item(&issue.path, &known.path);
        let place = issues.iter().position(later).unwrap_or(issues.len());
        issues.insert(place, issue);
    }
    if is_changed {
        issues.sort_by_cached_key(|issue| (!issue.path.is_empty(), compiled.rank(&issue.path)));
    }
}

fn errors(issues: &[Issue]) -> impl Iterator<Item = &Issue> {
    issues.iter().filter(|issue| issue.is_error())
}

fn is_of_unknown_key(issue: &Issue) -> bool {
    matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty)
}

/// The addresses of the values that have errors.
fn refused(arguments: &Node<'_>, issues: &[Issue]) -> HashSet<usize> {
    let node_at = |issue: &Issue| {
        let steps = issue.path.split('/').skip(1);
        let steps: Vec<String> = steps
            .map(|step| step.replace("~1", "/").replace("~0", "~"))
            .collect();
        arguments.at(steps.iter().map(String::as_str)).map(address)
    };
    errors(issues).filter_map(node_at).collect()
}

/// How many values there are.
fn count(node: &Node<'_>) -> usize {
    1 + match node {
        Node::List(items) => items.iter().map(count).sum(),
        Node::Object(members) => members.entries.iter().map(|(_, entry)| count(entry)).sum(),
        _ => 0_usize,
    }
}
