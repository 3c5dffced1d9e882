//! Messages about the keywords that coercion does not enforce.

use std::collections::HashSet;
use std::rc::Rc;

use crate::arguments::input::tree::node::Node;
use crate::arguments::limits;
use crate::arguments::report::expected::{Expected, Listed, Range, several, with_null};
use crate::arguments::report::messages::{refused, shown, violates};
use crate::arguments::report::path::Path;
use crate::schema::compiled::pattern::Pattern;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::validation::{Contains, ObjectKeywords, Subschema};
use crate::wire::issue::{Code, Issue, excerpt};

/// Rejects a value whose schema is `false`.
pub(super) fn denied(at: &Path<'_>, sent: &Node<'_>) -> Issue {
    let message = match at {
        Path::Key(_, key) => format!("unexpected `{}`; leave it out", excerpt(key)),
        Path::Index(..) => return unexpected_item(sent),
        Path::Root => "invalid arguments; none are allowed".to_owned(),
    };
    refused(Code::ConstraintViolated, sent, message)
}

/// Rejects an item after the last allowed one.
pub(super) fn unexpected_item(sent: &Node<'_>) -> Issue {
    let message = format!("unexpected value {}; leave the item out", shown(sent));
    refused(Code::ConstraintViolated, sent, message)
}

/// Returns the code for a value that has none of the types.
pub(super) fn type_code(types: Types) -> Code {
    match types.without(Types::NULL) {
        Types::STRING => Code::UnsupportedStringLiteral,
        Types::INTEGER => Code::UnsupportedIntegerLiteral,
        Types::NUMBER => Code::UnsupportedNumberLiteral,
        Types::BOOLEAN => Code::UnsupportedBooleanLiteral,
        Types::ARRAY => Code::UnsupportedArrayLiteral,
        Types::OBJECT => Code::UnsupportedObjectLiteral,
        _ => Code::NoAlternativeFits,
    }
}

/// Returns the items as a node.
pub(super) fn list<'a>(items: &[Node<'a>]) -> Node<'a> {
    Node::List(Rc::new(items.to_vec()))
}

/// Adds `null` to the description of a schema that allows it; listed values include `null` already.
pub(super) fn or_null(schema: &Subschema, words: String) -> String {
    match schema.types {
        Types::ALL => words,
        _ if schema.values.is_some() => words,
        types => with_null(types, words),
    }
}

/// Describes the violated `minContains` or `maxContains`, and the number of matching items.
pub(super) fn contained(limits: Contains, count: u64, kind: Option<String>) -> String {
    let (word, limit) = if count < limits.min {
        ("at least", limits.min)
    } else {
        ("at most", limits.max.unwrap_or_default())
    };
    let (noun, verb) = if limit == 1 {
        ("item", "is")
    } else {
        ("items", "are each")
    };
    let kind = kind.map_or(String::new(), |kind| format!(" that {verb} {kind}"));
    format!("{word} {limit} {noun}{kind}, got {count}")
}

/// Describes a schema. Without `type`, limits of numbers apply only to numbers and limits of strings only to strings, so the description names this type.
pub(super) fn described(schema: &Subschema, wanted: Option<Expected<'_>>) -> Option<String> {
    match (schema.types, &schema.number, &schema.text) {
        (Types::ALL, Some(limits), None) => Some(format!("a number{}", Range(limits))),
        (Types::ALL, None, Some(limits)) => {
            let pattern = limits.pattern.as_ref()?;
            Some(limits::matching(None, pattern))
        }
        (Types::ALL, ..) if schema.values.is_none() => None,
        _ => wanted.map(|wanted| wanted.to_string()),
    }
}

/// Rejects a value that matches a `not`.
pub(super) fn not(schema: &Subschema, sent: &Node<'_>, wanted: Option<Expected<'_>>) -> Issue {
    if let Some(keys) = only_required(schema) {
        let mut names = String::new();
        let _ = several(
            &mut names,
            keys.len(),
            keys.iter().map(|name| format!("`{}`", excerpt(name))),
        );
        let message = match keys {
            [_] => format!("unexpected {names}; leave it out"),
            [one, other] => {
                format!(
                    "`{}` and `{}` exclude each other; leave one of them out",
                    excerpt(one),
                    excerpt(other)
                )
            }
            _ => format!("{names} are not allowed together; leave one of them out"),
        };
        return refused(Code::ConstraintViolated, sent, message);
    }
    if let Some(other) = another(schema) {
        return violates(sent, other);
    }
    match described(schema, wanted) {
        Some(kind) => violates(sent, format_args!("a value that is not {kind}")),
        None => match reasons(schema, sent).as_slice() {
            reasons if reasons.is_empty() || !matches!(sent, Node::Object(_)) => {
                violates(sent, "a value that does not match the `not` of the schema")
            }
            [only] => {
                let message = format!("not allowed here: {only}; change it or leave it out");
                refused(Code::ConstraintViolated, sent, message)
            }
            several => {
                let message = format!(
                    "not allowed together: {}; change one of them or leave it out",
                    several.join(" and ")
                );
                refused(Code::ConstraintViolated, sent, message)
            }
        },
    }
}

/// Describes the values that `not` leaves: any value except the listed ones, or a string that does not match the pattern. `None` for any other
/// schema.
fn another(schema: &Subschema) -> Option<String> {
    if let Some(values) = &schema.values {
        let listed = Listed(values).to_string();
        return Some(format!(
            "any value except {}",
            listed.strip_prefix("one of ").unwrap_or(&listed)
        ));
    }
    let pattern = only_pattern(schema)?;
    Some(format!("a string that does not match `{}`", excerpt(pattern)))
}

/// Describes the keys that the `propertyNames` schema `names` allows. `not` is its `not` subschema.
pub(super) fn key(
    names: &Subschema,
    not: Option<&Subschema>,
    sent: &str,
    wanted: Option<Expected<'_>>,
) -> String {
    let limits = names.text.as_ref();
    if let Some(limit) = limits.and_then(|limits| limits::check_text(limits, None, sent)) {
        return limit;
    }
    if let Some(other) = not.and_then(another) {
        return other;
    }
    match (names.format, wanted) {
        (Some(format), _) => format.description().to_owned(),
        (None, Some(wanted)) if names.types != Types::ALL || names.values.is_some() => wanted.to_string(),
        _ => "another key".to_owned(),
    }
}

/// Returns the keys, if a schema has only `required`.
fn only_required(schema: &Subschema) -> Option<&[Box<str>]> {
    let object = schema.object.as_ref()?;
    let ObjectKeywords { required, .. } = &**object;
    let is_only = (schema.types == Types::ALL || schema.types == Types::OBJECT)
        && schema.values.is_none()
        && schema.in_place.is_none()
        && object.declared.is_empty()
        && object.patterns.is_empty()
        && object.additional.is_none()
        && object.names.is_none()
        && object.min.is_none()
        && object.max.is_none()
        && object.dependent_required.is_empty()
        && object.dependent_schemas.is_empty()
        && object.unevaluated.is_none();
    (is_only && !required.is_empty()).then_some(required)
}

/// Returns the pattern, if a schema has only a pattern.
fn only_pattern(schema: &Subschema) -> Option<&str> {
    let text = schema.text.as_ref()?;
    let is_only = schema.in_place.is_none() && text.min.is_none() && text.max.is_none();
    text.pattern.as_ref().filter(|_| is_only).map(Pattern::as_str)
}

/// Rejects a value that matches no alternative, or several of a `oneOf`.
pub(super) fn no_alternative(code: Code, sent: &Node<'_>, wanted: Option<Expected<'_>>) -> Issue {
    let (adjective, rest) = match code {
        Code::AmbiguousValue => ("ambiguous", ", written so that only one alternative matches"),
        _ => ("invalid", ""),
    };
    let wanted = wanted.map_or_else(|| "another value".to_owned(), |wanted| wanted.to_string());
    refused(
        code,
        sent,
        format!("{adjective} value {}; expected {wanted}{rest}", shown(sent)),
    )
}

/// Returns the reason for a dependent requirement: a key was sent.
pub(super) fn was_sent(name: &str) -> String {
    format!(" (since `{}` was sent)", excerpt(name))
}

/// Returns the reason why the branch of a condition applies.
pub(super) fn tested(test: &Subschema, sent: &Node<'_>) -> Option<String> {
    let reasons = reasons(test, sent);
    (!reasons.is_empty()).then(|| format!(" (since {})", reasons.join(" and ")))
}

/// Lists the values that a schema tests.
fn reasons(schema: &Subschema, sent: &Node<'_>) -> Vec<String> {
    let (members, object) = match (sent, &schema.object) {
        (Node::Object(members), Some(object)) => (members, object),
        (Node::List(_) | Node::Object(_), _) => return Vec::new(),
        (scalar, _) => return vec![format!("it is {}", shown(scalar))],
    };
    let mut seen = HashSet::new();
    let names = object.declared.iter().chain(&object.required);
    let names = names.filter(|name| seen.insert(*name)).take(MAX_REASONS);
    let reason = |name: &str| match members.get(name) {
        None => format!("`{}` was not sent", excerpt(name)),
        Some(Node::List(_) | Node::Object(_)) => format!("`{}` was sent", excerpt(name)),
        Some(value) => format!("`{}` is {}", excerpt(name), shown(value)),
    };
    names.map(|name| reason(name)).collect()
}

/// Maximum number of listed values of a condition.
const MAX_REASONS: usize = 3;
