//! Enforces the keywords that coercion ignores: `format`, `not`, `if`, `contains`, `dependentRequired`,
//! `unevaluatedProperties` and similar ones.
//!
//! These keywords do not change the coercion of a value. They apply to the coerced arguments, by the rules of JSON Schema.
//! Original values are evaluated only when coercion tests the alternatives of a union.

pub(super) mod evaluate;
mod messages;
mod walk;

use std::collections::{HashMap, HashSet};

use crate::arguments::input::tree::node::Node;
use crate::arguments::report::messages::{too_complex, too_many_unions};
use crate::arguments::report::path::Path;
use crate::schema::compiled::CompiledSchema;
use crate::schema::compiled::validation::{SubschemaId, Validation};
use crate::schema::keywords::pointer;
use crate::wire::issue::{Code, Issue, Severity};
use evaluate::{Evaluator, Stop, Verdicts};
use walk::ValidationWalk;

/// Maximum work of a call, as the number of applied subschemas. [`WORK_PER_VALUE`] is added for each value.
const MAX_WORK: usize = 2_000_000;
/// Additional work for each value in the arguments.
const WORK_PER_VALUE: usize = 64;

/// Validates the coerced arguments, including their unknown keys, and adds the findings to the issues. Unexpected
/// properties are errors if `is_strict` is true.
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
    evaluator.refused = addresses_with_errors(arguments, issues);
    let mut walk = ValidationWalk::new(
        compiled,
        evaluator,
        is_strict,
        issues.iter().any(is_of_unknown_key),
    );
    walk.subschema(SubschemaId::ROOT, arguments, &Path::Root, true);
    let ValidationWalk {
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

/// Adds findings whose path has no error yet.
fn add(compiled: &CompiledSchema, issues: &mut Vec<Issue>, found: Vec<Issue>) {
    let refused: HashSet<String> = errors(issues).map(|issue| issue.path.clone()).collect();
    let unknown = issues
        .iter()
        .enumerate()
        .filter(|(_, issue)| is_of_unknown_key(issue));
    let unknown: HashMap<String, usize> = unknown
        .map(|(place, issue)| (issue.path.clone(), place))
        .collect();
    let mut seen = HashSet::new();
    let mut added = Vec::new();
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
        // Coercion has already warned of the key.
        let warning = unknown.get(&issue.path).filter(|_| is_of_unknown_key(&issue));
        match warning.and_then(|place| issues.get_mut(*place)) {
            Some(warning) if issue.severity == Severity::Error => warning.severity = Severity::Error,
            Some(_) => {}
            None => added.push(issue),
        }
    }
    if !added.is_empty() {
        merge(compiled, issues, added);
    }
}

/// Merges `added` into `issues`, sorted by the order of the parameters. Within a parameter, both lists keep their order,
/// and an added issue precedes an issue at a later item or inside its value.
fn merge(compiled: &CompiledSchema, issues: &mut Vec<Issue>, added: Vec<Issue>) {
    let rank = |issue: Issue| ((!issue.path.is_empty(), compiled.rank(&issue.path)), issue);
    let mut known = std::mem::take(issues).into_iter().map(rank).peekable();
    let mut added = added.into_iter().map(rank).peekable();
    let mut merged = Vec::new();
    loop {
        let is_added_next = match (known.peek(), added.peek()) {
            (Some((known_rank, known)), Some((rank, issue))) => {
                rank < known_rank || rank == known_rank && is_earlier(&issue.path, &known.path)
            }
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let next = if is_added_next { added.next() } else { known.next() };
        let Some(next) = next else { break };
        merged.push(next);
    }
    merged.sort_by_key(|(rank, _)| *rank);
    issues.extend(merged.into_iter().map(|(_, issue)| issue));
}

/// Returns whether `one` leads to an earlier item of a list than `other`, or to a value that contains the value at `other`.
fn is_earlier(one: &str, other: &str) -> bool {
    let is_outer = one.len() < other.len() && pointer::overlap(one, other);
    is_outer || pointer::is_earlier_item(one, other)
}

fn errors(issues: &[Issue]) -> impl Iterator<Item = &Issue> {
    issues.iter().filter(|issue| issue.is_error())
}

fn is_of_unknown_key(issue: &Issue) -> bool {
    matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty)
}

/// Returns the addresses of the values that have errors.
fn addresses_with_errors(arguments: &Node<'_>, issues: &[Issue]) -> HashSet<usize> {
    let mut paths = ErrorPaths::default();
    for issue in errors(issues) {
        let steps = issue.path.split('/').skip(1);
        let last = steps.fold(&mut paths, |paths, step| {
            paths
                .inner
                .entry(step.replace("~1", "/").replace("~0", "~"))
                .or_default()
        });
        last.has_error = true;
    }
    let mut found = HashSet::new();
    paths.find(arguments, &mut found);
    found
}

/// Paths of errors as a tree, so that each step is compared once.
#[derive(Default)]
struct ErrorPaths {
    has_error: bool,
    inner: HashMap<String, ErrorPaths>,
}

impl ErrorPaths {
    fn find(&self, node: &Node<'_>, found: &mut HashSet<usize>) {
        if self.has_error {
            found.insert(node.address());
        }
        if self.inner.is_empty() {
            return;
        }
        match node {
            Node::List(items) => {
                for (index, item) in items.iter().enumerate() {
                    if let Some(inner) = self.inner.get(&index.to_string()) {
                        inner.find(item, found);
                    }
                }
            }
            Node::Object(members) => {
                for (key, entry) in members.entries.iter() {
                    if let Some(inner) = self.inner.get(&**key) {
                        inner.find(entry, found);
                    }
                }
            }
            _ => {}
        }
    }
}

/// Returns the number of values in a node.
fn count(node: &Node<'_>) -> usize {
    1 + match node {
        Node::List(items) => items.iter().map(count).sum(),
        Node::Object(members) => members.entries.iter().map(|(_, entry)| count(entry)).sum(),
        _ => 0_usize,
    }
}
