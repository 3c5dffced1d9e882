//! Limits of the schema, which are checked after coercion.

use std::collections::HashMap;
use std::fmt::Write as _;

use serde_json::Value;

use crate::arguments::input::tree::node::Node;
use crate::arguments::rules;
use crate::schema::compiled::bounds::NumberLimits;
use crate::schema::compiled::decimal::Decimal;
use crate::schema::compiled::format_description::Format;
use crate::schema::compiled::pattern::Pattern;
use crate::schema::compiled::{TextLimits, Values};
use crate::schema::text_formats::TextFormat;
use crate::wire::issue::excerpt;

/// Membership of a value in the allowed values.
#[derive(Debug, PartialEq)]
pub(crate) enum Membership<'s> {
    Is,
    /// The value differs only in spelling (see [`resemble`](crate::schema::compiled::spelling::resemble)) from this
    /// declared one.
    Resembles(&'s str),
    IsNot,
}

/// Looks a value up in the allowed values; `respells` ignores differences in spelling.
pub(crate) fn membership<'s>(values: &'s Values, node: &Node<'_>, respells: bool) -> Membership<'s> {
    let is = match node {
        Node::Text(text) => values.has_text(text),
        Node::Number(number) => values.has_number(&number.text),
        _ => values.others.iter().any(|value| same(node, value)),
    };
    match node {
        _ if is => Membership::Is,
        Node::Text(text) if respells => values
            .resembling(text)
            .map_or(Membership::IsNot, Membership::Resembles),
        _ => Membership::IsNot,
    }
}

/// Returns whether a value is equal to a value of a schema: numbers by value, objects in any order of keys.
fn same(node: &Node<'_>, value: &Value) -> bool {
    match (node, value) {
        (Node::Null, Value::Null) => true,
        (Node::Bool(is), Value::Bool(allowed)) => is == allowed,
        (Node::Number(number), Value::Number(allowed)) => {
            *number.text == allowed.to_string()
                || Decimal::parse(&number.text) == Decimal::parse(&allowed.to_string())
        }
        (Node::Text(text), Value::String(allowed)) => text == allowed,
        (Node::List(items), Value::Array(allowed)) => {
            items.len() == allowed.len()
                && items
                    .iter()
                    .zip(allowed)
                    .all(|(item, allowed)| same(item, allowed))
        }
        (Node::Object(members), Value::Object(allowed)) => {
            let has = |(key, entry): &(_, _)| -> bool {
                let key: &std::borrow::Cow<'_, str> = key;
                allowed
                    .get(key.as_ref())
                    .is_some_and(|allowed| same(entry, allowed))
            };
            members.entries.len() == allowed.len() && members.entries.iter().all(has)
        }
        _ => false,
    }
}

/// A constraint that a string violates.
pub(crate) enum TextViolation<'s> {
    TooShort(u64),
    TooLong(u64),
    Blank,
    Pattern(&'s Pattern),
    /// The string is a word for nothing, as no format allows.
    NullWord(TextFormat),
}

/// Returns the first violated constraint of a string.
#[inline(always)]
#[allow(
    clippy::inline_always,
    reason = "every string with limits: 1 % of a call with 40 of them"
)]
pub(crate) fn text_violation<'s>(limits: &'s TextLimits, text: &str) -> Option<TextViolation<'s>> {
    // A character takes 1 to 4 bytes: characters are counted only if the number of bytes does not decide.
    let bytes = text.len() as u64;
    let length = || characters(text);
    if let Some(min) = limits.min
        && (bytes < min || (bytes < min.saturating_mul(4) && length() < min))
    {
        return Some(TextViolation::TooShort(min));
    }
    if let Some(max) = limits.max
        && bytes > max
        && length() > max
    {
        return Some(TextViolation::TooLong(max));
    }
    // Fast path: a string that begins with visible ASCII is not blank.
    if limits.not_blank && !text.starts_with(|first: char| first.is_ascii_graphic()) && is_blank(text) {
        return Some(TextViolation::Blank);
    }
    if let Some(pattern) = &limits.pattern
        && !pattern.is_match(text)
    {
        return Some(TextViolation::Pattern(pattern));
    }
    // The registry decides whether a `format` is enforced, but no format allows a null word.
    limits
        .format
        .filter(|_| rules::is_null_word(text))
        .map(TextViolation::NullWord)
}

// These functions are not inlined, since few strings reach them.

#[inline(never)]
fn characters(text: &str) -> u64 {
    text.chars().count() as u64
}

#[inline(never)]
fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// Returns the expected value for the first violated constraint of a string. A `format` is named in place of its
/// `pattern`, which is harder to understand.
pub(crate) fn check_text(limits: &TextLimits, format: Option<&Format>, text: &str) -> Option<String> {
    text_violation(limits, text).map(|violation| violation.expected(format, text))
}

impl TextViolation<'_> {
    #[cold]
    fn expected(self, format: Option<&Format>, text: &str) -> String {
        let length =
            |most: &str, limit| format!("{most} {}, got {}", counted(limit, "character"), characters(text));
        match (self, format) {
            (Self::TooShort(min), _) => length("at least", min),
            (Self::TooLong(max), _) => length("at most", max),
            (Self::Blank, _) => "a string that is not blank".to_owned(),
            (Self::Pattern(pattern), Some(format))
                if format.excludes(text) && pattern.is_match(format.example) =>
            {
                format.to_string()
            }
            (Self::Pattern(pattern), format) => matching(format, pattern),
            (Self::NullWord(_), Some(format)) => format.to_string(),
            (Self::NullWord(known), None) => known.description().to_string(),
        }
    }
}

/// Describes a string that matches a pattern, for an error message.
#[cold]
pub(crate) fn matching(format: Option<&Format>, pattern: &Pattern) -> String {
    let matches = format!("that matches `{}`", excerpt(pattern.as_str()));
    match format {
        Some(format) if pattern.is_match(format.example) => format!("{format}, {matches}"),
        Some(format) => format!("{} {matches}", format.noun),
        None => format!("a string {matches}"),
    }
}

/// Returns whether the limits of a number hold.
pub(crate) fn number_fits(limits: &NumberLimits, text: &str) -> bool {
    if limits.has_no_bounds() {
        return true;
    }
    if let Ok(value) = text.parse()
        && let Some(fits) = limits.check_integer(value)
    {
        return fits;
    }
    let Some(value) = Decimal::parse(text) else {
        return false;
    };
    limits.min.as_ref().is_none_or(|min| value >= min.value())
        && limits.max.as_ref().is_none_or(|max| value <= max.value())
        && limits
            .exclusive_min
            .as_ref()
            .is_none_or(|above| value > above.value())
        && limits
            .exclusive_max
            .as_ref()
            .is_none_or(|below| value < below.value())
        && limits
            .multiple_of
            .as_ref()
            .is_none_or(|step| value.is_multiple_of(&step.value()))
}

/// Returns the expected count if a limit such as `minItems` or `maxItems` is violated.
pub(crate) fn check_count(count: usize, min: Option<u64>, max: Option<u64>, one: &str) -> Option<String> {
    let count = count as u64;
    if let Some(min) = min.filter(|min| count < *min) {
        return Some(format!("at least {}, got {count}", counted(min, one)));
    }
    let max = max.filter(|max| count > *max)?;
    Some(format!("at most {}, got {count}", counted(max, one)))
}

fn counted(count: u64, one: &str) -> String {
    match (count, one.strip_suffix('y')) {
        (1, _) => format!("1 {one}"),
        (_, Some(stem)) => format!("{count} {stem}ies"),
        (_, None) => format!("{count} {one}s"),
    }
}

/// Returns the positions of equal items, each with the position of the first one, for `uniqueItems`.
pub(crate) fn repeated_items(items: &[Node<'_>]) -> Vec<(usize, usize)> {
    let mut known = HashMap::with_capacity(items.len());
    let mut texts = HashMap::new();
    let mut repeated = Vec::new();
    for (place, item) in items.iter().enumerate() {
        let first = match item {
            Node::Text(text) => *texts.entry(text.as_ref()).or_insert(place),
            item => *known.entry(canonical(item)).or_insert(place),
        };
        if first != place {
            repeated.push((first, place));
        }
    }
    repeated
}

/// Returns whether two values are equal in JSON Schema: numbers by value, objects in any order of keys.
pub(crate) fn is_same(one: &Node<'_>, other: &Node<'_>) -> bool {
    one == other || canonical(one) == canonical(other)
}

/// Returns a text that is equal exactly for equal values.
fn canonical(node: &Node<'_>) -> String {
    let mut text = String::new();
    match node {
        Node::Number(number) => {
            let _ = write!(text, "{:?}", Decimal::parse(&number.text));
        }
        Node::List(items) => {
            text.push('[');
            for item in items.iter() {
                text.push_str(&canonical(item));
                text.push(',');
            }
        }
        Node::Object(members) => {
            text.push('{');
            let entries = members.entries.iter();
            let mut entries: Vec<_> = entries.map(|(key, entry)| (key, canonical(entry))).collect();
            entries.sort();
            for (key, entry) in entries {
                let _ = write!(text, "{key:?}:{entry},");
            }
        }
        scalar => {
            let _ = scalar.write(&mut text);
        }
    }
    text
}
