//! Reads arguments against a compiled schema: coerces, validates and deserializes them.

pub mod policy;
pub(crate) mod caller;
mod input;
mod rules;
mod limits;
mod null_words;
mod report;
mod root;
mod validate;
mod coerce;
mod deserialize;
mod fast_path;

use serde_json::{Map, Value};

use crate::arguments::caller::Caller;
use crate::arguments::policy::Policy;
use crate::host::Host;
use crate::param::params::Params;
use crate::schema::CompiledSchema;
use crate::schema::compiled::SchemaId;
use crate::schema::keywords::pointer;
use crate::wire::issue::{Code, Issue, escape_and_truncate};
use crate::wire::raw_arguments::RawArguments;
use coerce::cache::Cache;
use coerce::context::CoercionContext;
use coerce::{Budget, Coercer};
use deserialize::argument::Arguments;
use deserialize::error::DeserializeError;
use input::tree::node::{self, Node};
use report::expected::or_null;
use report::path::Path;
use report::{CoercedKeys, Report, advice, messages};
use root::wrapped::{Envelope, Layout};

/// Reader of the arguments of one call.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ArgumentReader<'a> {
    pub(crate) compiled: &'a CompiledSchema,
    pub(crate) policy: Policy,
    pub(crate) caller: Caller<'a>,
    /// Whether arguments that conform exactly may skip coercion. The result does not depend on this.
    pub(crate) has_fast_path: bool,
}

impl<'a> ArgumentReader<'a> {
    pub(crate) fn new(compiled: &'a CompiledSchema, policy: Policy) -> Self {
        Self {
            compiled,
            policy,
            caller: Caller::Host,
            has_fast_path: true,
        }
    }

    /// Adds to the errors whether a value can be left out.
    fn advise(&self, issues: &mut [Issue]) {
        if self.caller != Caller::Host {
            advice::add(self.compiled, issues);
        }
    }
}

/// Reads the arguments of a typed tool; `None` if an issue is an error. The findings replace `issues` after
/// everything is read.
#[inline]
pub(crate) fn read<P: Params>(
    reader: &ArgumentReader<'_>,
    params: &P,
    input: &mut RawArguments<'_>,
    host: &Host<'_>,
    issues: &mut Vec<Issue>,
) -> Option<P::Values> {
    let compiled = reader.compiled;
    if reader.has_fast_path
        && compiled.validation().is_none()
        && let Some(values) = fast_path::read(compiled, params, input, host)
    {
        return Some(values);
    }
    read_coerced(params, reader, input, host, issues)
}

/// Reads arguments that do not take the fast path.
#[cold]
fn read_coerced<P: Params>(
    params: &P,
    reader: &ArgumentReader<'_>,
    input: &RawArguments<'_>,
    host: &Host<'_>,
    issues: &mut Vec<Issue>,
) -> Option<P::Values> {
    let mut values = None;
    let is_valid = read_tree(reader, input, issues, &mut |arguments, on_error| {
        values = params.read_values(&arguments, host, on_error);
    });
    if is_valid { values } else { None }
}

/// A function that reads the values of parameters from coerced arguments and calls its second argument for each value that a
/// type rejects.
type ReadValues<'r> = dyn FnMut(&Arguments<'_>, &mut dyn FnMut(&'static str, DeserializeError)) + 'r;

/// Coerces arguments and reads their values. Returns `false` if an issue is an error. The function is not generic, since generic code is
/// compiled again for each tool.
fn read_tree(
    reader: &ArgumentReader<'_>,
    input: &RawArguments<'_>,
    issues: &mut Vec<Issue>,
    read_values: &mut ReadValues<'_>,
) -> bool {
    let ArgumentReader { compiled, policy, .. } = *reader;
    let CoercedObject {
        object,
        issues: mut found,
        coerced_keys,
        is_stopped,
    } = coerce_object(reader, input, false);
    let Some(object) = object.filter(|_| !is_stopped) else {
        *issues = found;
        return false;
    };
    // Types are deserialized even if the schema has errors, so that the model sees all errors at once.
    let mut refused = Vec::new();
    let arguments = Arguments::from_tree(compiled, &object);
    read_values(&arguments, &mut |name, error| {
        refused.push(invalid(compiled, &object, &coerced_keys, name, &error));
    });
    if !refused.is_empty() {
        add(&mut found, refused, compiled, &coerced_keys);
    }
    if let Some(validation) = compiled.validation() {
        // Types do not get unknown keys, but JSON Schema validates them.
        let whole = coerce_object(reader, input, true);
        if let Some(whole) = whole.object.filter(|_| !whole.is_stopped) {
            let is_strict = policy == Policy::Strict;
            validate::validate(compiled, validation, &Node::Object(whole), is_strict, &mut found);
        }
    }
    reader.advise(&mut found);
    // The findings are set last: if a type panics, no findings may be warnings.
    *issues = found;
    !issues.iter().any(Issue::is_error)
}

/// Adds the errors of types to the errors of the schema, unless both are about the same value.
fn add(issues: &mut Vec<Issue>, refused: Vec<Issue>, compiled: &CompiledSchema, coerced_keys: &CoercedKeys) {
    for mut issue in refused {
        // In a set, the items after a removed one have other indices than in the input.
        let mut removed = issues
            .iter()
            .filter(|known| known.code == Code::DuplicateItemsRemoved && issue.path.len() > known.path.len());
        if let Some(set) = removed.find(|known| pointer::overlap(&known.path, &issue.path)) {
            issue.path.clone_from(&set.path);
        }
        let mut errors = issues.iter().filter(|known| known.is_error());
        if errors.any(|known| pointer::overlap(&known.path, &issue.path)) {
            continue;
        }
        // The error about a key has its original spelling, even if the key was coerced.
        if issue.code == Code::InvalidMapKey
            && let Some(sent) = coerced_keys.sent(&issue.path)
            && let Some((map, _)) = issue.path.rsplit_once('/')
        {
            issues.retain(|known| known.code != Code::MapKeyCoerced || known.path != issue.path);
            issue.path = pointer::join(map, sent);
        }
        let later = |known: &Issue| pointer::is_earlier_item(&issue.path, &known.path);
        let place = issues.iter().position(later).unwrap_or(issues.len());
        issues.insert(place, issue);
    }
    issues.sort_by_cached_key(|issue| compiled.rank(&issue.path));
}

/// Result of a coercion.
#[derive(Debug)]
pub(crate) struct Coerced {
    /// Coerced arguments with unknown keys. Rejected values are unchanged.
    pub(crate) arguments: Map<String, Value>,
    pub(crate) issues: Vec<Issue>,
}

/// Coerces the arguments of a tool that has a schema and no types.
pub(crate) fn coerce(reader: ArgumentReader<'_>, input: &mut RawArguments<'_>) -> Coerced {
    let compiled = reader.compiled;
    if reader.has_fast_path
        && compiled.validation().is_none()
        && let Some(arguments) = fast_path::map(compiled, input)
    {
        return Coerced {
            arguments,
            issues: Vec::new(),
        };
    }
    let (node, issues) = coerce_and_validate(&reader, input);
    let arguments = match node {
        Node::Object(members) => members.to_map(),
        _ => Map::new(),
    };
    Coerced { arguments, issues }
}

/// Coerces and validates the arguments as an object, with unknown keys.
fn coerce_and_validate<'a>(
    reader: &ArgumentReader<'_>,
    input: &'a RawArguments<'_>,
) -> (Node<'a>, Vec<Issue>) {
    let ArgumentReader { compiled, policy, .. } = *reader;
    let CoercedObject {
        object,
        mut issues,
        is_stopped,
        ..
    } = coerce_object(reader, input, true);
    let has_object = object.is_some();
    let node = Node::Object(object.unwrap_or_default());
    if let Some(validation) = compiled.validation()
        && has_object
        && !is_stopped
    {
        validate::validate(compiled, validation, &node, policy == Policy::Strict, &mut issues);
    }
    reader.advise(&mut issues);
    (node, issues)
}

/// Coerces as [`coerce()`] does, and also returns JSON text with the original text of numbers.
pub(crate) fn coerce_to_text(reader: ArgumentReader<'_>, input: &RawArguments<'_>) -> (Coerced, String) {
    let (object, issues) = coerce_and_validate(&reader, input);
    let mut text = String::new();
    // Writing to a `String` cannot fail.
    let _ = object.write(&mut text);
    let arguments = match &object {
        Node::Object(members) => members.to_map(),
        _ => Map::new(),
    };
    (Coerced { arguments, issues }, text)
}

struct CoercedObject<'a> {
    /// Arguments, if they are an object.
    object: Option<node::Members<'a>>,
    issues: Vec<Issue>,
    coerced_keys: CoercedKeys,
    /// Whether reading was aborted.
    is_stopped: bool,
}

fn coerce_object<'a>(
    reader: &ArgumentReader<'_>,
    input: &'a RawArguments<'_>,
    keeps_unknown: bool,
) -> CoercedObject<'a> {
    let ArgumentReader {
        compiled,
        policy,
        caller,
        ..
    } = *reader;
    let (mut sent, mut issues) = match root::object::object(input, policy, caller) {
        Ok(read) => read,
        Err(refused) => {
            return CoercedObject {
                object: None,
                issues: vec![refused],
                coerced_keys: CoercedKeys::default(),
                is_stopped: true,
            };
        }
    };
    let mut refused = None;
    match Envelope::layout(compiled, policy, caller, &sent) {
        Layout::AsSent => {}
        Layout::Unwrapped { parameters, warnings } => {
            sent = parameters;
            issues.extend(warnings);
        }
        Layout::Refused(issue) => refused = Some(issue),
    }
    let about_all = issues.len();
    let mut report = Report::default();
    report.issues = issues;
    let mut budget = Budget::new(most_values(input));
    let mut coercer = Coercer {
        compiled,
        keeps_unknown,
        for_type: false,
        report: &mut report,
        cache: &mut Cache::default(),
        budget: &mut budget,
    };
    let changed = coercer.coerce(
        &sent,
        SchemaId::ROOT,
        &Path::Root,
        CoercionContext::all(policy.into()),
    );
    let (mut issues, stopped) = (report.issues, budget.stopped);
    let is_stopped = stopped.is_some();
    if is_stopped {
        issues.truncate(about_all);
        issues.extend(stopped);
    }
    if let Some(refused) = refused {
        // The keys inside are unknown, too; the error about the outer key is more useful.
        issues.retain(|issue| {
            issue.code != Code::UnknownParameter
                || refused.code != Code::ToolNameMismatch && !pointer::overlap(&issue.path, &refused.path)
        });
        issues.push(refused);
    }
    let read = changed.filter(|_| !is_stopped).unwrap_or(sent);
    CoercedObject {
        object: match read {
            Node::Object(members) => Some(members),
            _ => None,
        },
        issues,
        coerced_keys: report.coerced_keys,
        is_stopped,
    }
}

/// Returns an upper bound for the number of values: in text, each takes a byte and a separator.
fn most_values(input: &RawArguments<'_>) -> usize {
    match input {
        RawArguments::Text(text) => text.len() / 2 + 1,
        RawArguments::Bytes(bytes) => bytes.len() / 2 + 1,
        RawArguments::Value(value) => match &**value {
            Value::String(text) => text.len() / 2 + 1,
            value => count(value),
        },
    }
}

/// Returns the number of values in a node, which is not too deep, including the node.
fn count(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(count).sum(),
        Value::Object(entries) => entries.values().map(count).sum(),
        _ => 0_usize,
    }
}

/// Rejects arguments that the schema allows and the type does not.
fn invalid(
    compiled: &CompiledSchema,
    object: &node::Members<'_>,
    coerced_keys: &CoercedKeys,
    name: &str,
    error: &DeserializeError,
) -> Issue {
    let sent = object.get(name).and_then(|node| node.at(error.steps()));
    let steps: Vec<&str> = std::iter::once(name).chain(error.steps()).collect();
    let format = compiled.format_at(steps.iter().copied());
    let wanted = format.map(|(schema, format)| or_null(schema, format.to_string()));
    // A type's message may repeat the value.
    let error_text = escape_and_truncate(error.message(), MAX_TYPE_ERROR);
    let path = error.path(&pointer::join("", name));
    let mut issue = match sent {
        _ if error.is_of_key() => {
            let key = || error.steps().last().unwrap_or_default();
            messages::invalid_key_of_type(coerced_keys.sent(&path).unwrap_or_else(key), &error_text)
        }
        Some(sent) => messages::invalid_value(sent, &error_text, wanted.as_deref()),
        None => Issue::error(Code::InvalidValue, "", error_text.into_owned()),
    };
    issue.path = path;
    issue
}

/// Maximum number of characters of a type's error message.
const MAX_TYPE_ERROR: usize = 256;

#[cfg(test)]
mod tests;
