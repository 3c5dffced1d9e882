//! Arguments inside one unknown key: `{"arguments": {"city": "Paris"}}`.
//!
//! Models copy the envelope of a call, or the `properties` of the schema. The usual envelopes are unwrapped once. Any
//! other unknown key that contains declared keys is an error, since the tool would otherwise run without its
//! arguments.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::arguments::caller::Caller;
use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::input::tree::parse::{self, Read, TooDeep};
use crate::arguments::policy::Policy;
use crate::arguments::report::expected::several;
use crate::arguments::report::messages;
use crate::arguments::rules;
use crate::schema::CompiledSchema;
use crate::schema::compiled::name::fold;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, Kind, Schema, SchemaId};
use crate::schema::keywords::pointer;
use crate::wire::depth;
use crate::wire::issue::{Code, Issue, excerpt};

/// Keys under which models send all arguments.
const ENVELOPES: [&str; 7] = [
    "arguments",
    "args",
    "kwargs",
    "input",
    "parameters",
    "params",
    "properties",
];

/// Key of the tool's name beside the arguments.
const NAME: &str = "name";

/// Placement of the parameters in the arguments.
#[derive(Debug)]
pub(crate) enum Layout<'a> {
    /// Parameters at the top level, or no parameters.
    AsSent,
    /// Parameters inside an envelope.
    Unwrapped {
        parameters: Node<'a>,
        warnings: Vec<Issue>,
    },
    /// Parameters inside a key that is not unwrapped.
    Refused(Issue),
}

/// Names of a call in the tool's schema and in the registry.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Envelope<'s> {
    compiled: &'s CompiledSchema,
    /// Name of the tool; `None` if any name is accepted.
    tool: Option<&'s str>,
}

impl<'s> Envelope<'s> {
    /// Finds the parameters by their declared names.
    pub(crate) fn layout<'a>(
        compiled: &'s CompiledSchema,
        policy: Policy,
        caller: Caller<'s>,
        arguments: &Node<'a>,
    ) -> Layout<'a> {
        let tool = match caller {
            Caller::Model(tool) => Some(tool),
            Caller::AnyModel => None,
            Caller::Host => return Layout::AsSent,
        };
        let Node::Object(members) = arguments else {
            return Layout::AsSent;
        };
        let envelope = Self { compiled, tool };
        match envelope.find(members) {
            None => Layout::AsSent,
            Some(Finding::Refused(issue)) => Layout::Refused(issue),
            Some(Finding::Wrapped(wrapped)) if policy == Policy::Strict => match &*wrapped.held {
                [] => Layout::AsSent,
                held => Layout::Refused(holds_parameters(&wrapped.key, held)),
            },
            Some(Finding::Wrapped(wrapped)) => {
                let repeated = members
                    .repeated
                    .iter()
                    .filter_map(|place| members.entries.get(*place));
                let repeated = repeated.map(|(key, _)| messages::repeated(key));
                let mut warnings: Vec<_> = repeated.collect();
                warnings.push(unwrapped(&wrapped.key));
                warnings.extend(wrapped.decoded);
                Layout::Unwrapped {
                    parameters: Node::Object(wrapped.parameters),
                    warnings,
                }
            }
        }
    }

    fn find<'a>(&self, members: &Members<'a>) -> Option<Finding<'a>> {
        let entries = members.entries.as_slice();
        if entries.iter().any(|(key, value)| self.is_sent(key, value)) {
            let ambiguous = self.ambiguous(members);
            return ambiguous.or_else(|| self.partly_wrapped(members));
        }
        match (entries, envelope(members)) {
            ([(key, value)], _) => self.inside(key, value, ENVELOPES.contains(&&**key)),
            (_, Some((name, key, value))) if self.is_unknown(NAME) => {
                let is_object = matches!(object(value), Ok(Some(_)) | Err(TooDeep));
                if is_object && self.tool.is_some_and(|tool| fold(tool) != fold(name)) {
                    return Some(Finding::Refused(other_tool(name, self.tool?)));
                }
                self.inside(key, value, true)
            }
            _ => entries
                .iter()
                .filter(|(key, _)| self.is_unknown(key))
                .find_map(|(key, value)| self.inside(key, value, false)),
        }
    }

    /// Finds the parameters in the value of an unknown key; an envelope is unwrapped.
    fn inside<'a>(&self, key: &Cow<'a, str>, value: &Node<'a>, is_envelope: bool) -> Option<Finding<'a>> {
        let (parameters, decoded) = match object(value) {
            Ok(Some(found)) => found,
            Ok(None) => {
                let is_unreadable = ENVELOPES.contains(&&**key) && may_hold_object(value);
                return is_unreadable.then(|| Finding::Refused(unreadable(key)));
            }
            Err(TooDeep) => return Some(Finding::Refused(messages::too_deep())),
        };
        let held = self.declared_among(&parameters);
        let nested = match self.find(&parameters) {
            Some(Finding::Refused(issue)) => Some(issue),
            Some(Finding::Wrapped(wrapped)) if !wrapped.held.is_empty() => {
                Some(holds_parameters(&wrapped.key, &wrapped.held))
            }
            _ => None,
        };
        if let Some(mut issue) = nested {
            issue.path = pointer::join("", key) + &issue.path;
            return Some(Finding::Refused(issue));
        }
        let is_meant = !held.is_empty() || parameters.entries.is_empty();
        if is_envelope && is_meant {
            return Some(Finding::Wrapped(Enveloped {
                key: key.to_string(),
                parameters,
                held,
                decoded,
            }));
        }
        (!held.is_empty()).then(|| Finding::Refused(holds_parameters(key, &held)))
    }

    /// Finds a parameter `name` beside an envelope with other parameters: either value may be the intended one.
    fn ambiguous<'a>(&self, members: &Members<'a>) -> Option<Finding<'a>> {
        let (_, key, value) = envelope(members).filter(|(_, key, _)| self.is_unknown(key))?;
        let (parameters, _) = object(value).ok()??;
        let (held, _) = parameters.entries.iter().find(|(key, _)| self.declares(key))?;
        Some(Finding::Refused(ambiguous(key, held)))
    }

    /// Finds an envelope beside declared keys that has other parameters: either of two values may be the intended
    /// one, and a parameter that only the envelope has would be lost.
    fn partly_wrapped<'a>(&self, members: &Members<'a>) -> Option<Finding<'a>> {
        let mut beside = None;
        members.entries.iter().find_map(|(key, value)| {
            let is_envelope = ENVELOPES.contains(&&**key) && self.is_unknown(key);
            let (parameters, _) = is_envelope.then(|| object(value).ok()?)??;
            let beside = beside.get_or_insert_with(|| by_key(members));
            let is_lost = |(key, value): &&(Cow<'a, str>, Node<'a>)| {
                self.declares(key) && beside.get(&**key).is_none_or(|sent| *sent != value)
            };
            let lost = parameters.entries.iter().filter(is_lost);
            let held: Vec<_> = lost.map(|(key, _)| key.to_string()).collect();
            (!held.is_empty()).then(|| Finding::Refused(holds_parameters(key, &held)))
        })
    }

    fn declared_among(&self, members: &Members<'_>) -> Vec<String> {
        let keys = members.entries.iter().map(|(key, _)| key);
        keys.filter(|key| self.declares(key))
            .map(ToString::to_string)
            .collect()
    }

    /// Returns whether a declared key has a value that its schema allows, or a value that is neither `null` nor a null
    /// word.
    fn is_sent(&self, key: &str, value: &Node<'_>) -> bool {
        let allows = |schema: &Schema| match value {
            Node::Null => schema.types.has(Types::NULL),
            Node::Text(text) if rules::is_null_word(text) => {
                self.compiled.accepts_null_word(text, schema, true)
            }
            _ => true,
        };
        !self.is_unknown(key) && self.property(key).is_none_or(allows)
    }

    /// Returns the schema of a declared key in any spelling, if the root has such a property.
    fn property(&self, key: &str) -> Option<&Schema> {
        let object = self.compiled.schema(SchemaId::ROOT).plain()?.object.as_ref()?;
        let position = object.position(key).or_else(|| {
            let folded = fold(key);
            object
                .properties
                .iter()
                .position(|property| property.folded == folded)
        })?;
        let property = object.properties.get(position)?;
        Some(self.compiled.schema(property.schema))
    }

    /// Returns whether no property has a key, by the rules for names and unknown keys.
    fn is_unknown(&self, key: &str) -> bool {
        let is_respelled = || self.declares(key);
        match &self.compiled.schema(SchemaId::ROOT).kind {
            Kind::Any => true,
            Kind::Plain(plain) => plain.object.as_ref().is_none_or(|object| {
                matches!(object.additional, Additional::Unspecified | Additional::Denied)
                    && !object.is_map()
                    && object.position(key).is_none()
                    && !object.also_required.iter().any(|name| **name == *key)
                    && !object.patterns.iter().any(|(pattern, _)| pattern.is_match(key))
                    && !is_respelled()
            }),
            Kind::Union(union) => !union.keys.has(key) && !is_respelled(),
            Kind::AllOf(all_of) => !all_of.keys.has(key) && !is_respelled(),
        }
    }

    /// Returns whether a key is declared, in any spelling.
    fn declares(&self, key: &str) -> bool {
        let folded = fold(key);
        let is = |name: &str| fold(name) == folded;
        match &self.compiled.schema(SchemaId::ROOT).kind {
            Kind::Any => false,
            Kind::Plain(plain) => plain.object.as_ref().is_some_and(|object| {
                object.properties.iter().any(|property| property.folded == folded)
                    || object.also_required.iter().any(|name| is(name))
            }),
            Kind::Union(union) => union.keys.declared.iter().any(|name| is(name)),
            Kind::AllOf(all_of) => all_of.keys.declared.iter().any(|name| is(name)),
        }
    }
}

/// Position of parameters that are not at the top level.
enum Finding<'a> {
    Wrapped(Enveloped<'a>),
    Refused(Issue),
}

/// Parameters in an envelope.
struct Enveloped<'a> {
    key: String,
    parameters: Members<'a>,
    /// Declared keys among the parameters.
    held: Vec<String>,
    /// Changes from decoding JSON text.
    decoded: Vec<Issue>,
}

/// Returns the name and the envelope of an object with no other keys.
fn envelope<'m, 'a>(members: &'m Members<'a>) -> Option<(&'m str, &'m Cow<'a, str>, &'m Node<'a>)> {
    let [one, other] = members.entries.as_slice() else {
        return None;
    };
    let ((_, name), (key, value)) = if one.0 == NAME { (one, other) } else { (other, one) };
    let is_named = one.0 == NAME || other.0 == NAME;
    match name {
        Node::Text(name) if is_named && ENVELOPES.contains(&&**key) => Some((name, key, value)),
        _ => None,
    }
}

/// Indexes the values by their keys, of which there may be many.
fn by_key<'m>(members: &'m Members<'_>) -> HashMap<&'m str, &'m Node<'m>> {
    members.entries.iter().map(|(key, node)| (&**key, node)).collect()
}

/// Returns whether a value looks like an object, decoded or not: its text begins with a bracket or a fence.
fn may_hold_object(value: &Node<'_>) -> bool {
    match value {
        Node::Text(text) => ["{", "[", "```"]
            .iter()
            .any(|start| text.trim_start().starts_with(start)),
        Node::List(items) => items.iter().any(|item| matches!(item, Node::Object(_))),
        _ => false,
    }
}

/// Returns an object, or the object in a text with the changes from decoding.
fn object<'a>(value: &Node<'a>) -> Result<Option<(Members<'a>, Vec<Issue>)>, TooDeep> {
    match value {
        Node::Object(members) => Ok(Some((members.clone(), Vec::new()))),
        Node::Text(text) if text.trim_start().starts_with('{') => {
            let read = parse::read_inner(text, depth::MAX_DEPTH)?;
            Ok(read.and_then(|Read { node, repaired, .. }| match node {
                Node::Object(members) => {
                    let message =
                        "the parameters were a string with JSON and were decoded; send the object itself";
                    let decoded = Issue::warning(Code::JsonStringDecoded, "", message);
                    Some((members, [decoded].into_iter().chain(repaired).collect()))
                }
                _ => None,
            }))
        }
        _ => Ok(None),
    }
}

fn unwrapped(key: &str) -> Issue {
    let message = format!(
        "the parameters were inside `{}` and were unwrapped; send them at the top level",
        excerpt(key)
    );
    Issue::warning(Code::ArgumentsUnwrapped, "", message)
}

/// Builds the error for an unknown key whose value has declared keys.
fn holds_parameters(key: &str, held: &[String]) -> Issue {
    let mut names = String::new();
    let quoted = held.iter().map(|name| format!("`{}`", excerpt(name)));
    let _ = several(&mut names, held.len(), quoted);
    let message =
        format!("unknown parameter that holds {names}; send all parameters at the top level, outside of it");
    Issue::error(Code::UnknownParameter, pointer::join("", key), message).about(key)
}

/// Builds the error for an envelope without a readable object.
fn unreadable(key: &str) -> Issue {
    let message = "unknown parameter without an object that can be read; send all parameters at the top level, outside of it";
    Issue::error(Code::UnknownParameter, pointer::join("", key), message).about(key)
}

fn ambiguous(key: &str, held: &str) -> Issue {
    let message = format!(
        "ambiguous arguments: `{NAME}` is a parameter here, and `{}` holds `{}`; send all parameters at the top level",
        excerpt(key),
        excerpt(held)
    );
    Issue::error(Code::AmbiguousValue, pointer::join("", key), message)
}

/// Builds the error for a call that contains the call of another tool.
pub(crate) fn other_tool(name: &str, tool: &str) -> Issue {
    let (name, tool) = (excerpt(name), excerpt(tool));
    let message = format!(
        "expected the parameters of `{tool}`, got a call of `{name}`; send the parameters of `{tool}` at the top level, \
         or call `{name}` itself"
    );
    Issue::error(Code::ToolNameMismatch, pointer::join("", NAME), message).about(&name)
}
