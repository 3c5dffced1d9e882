//! Sentences about the parameters that alternatives require, for the model.

use std::collections::HashSet;

use serde_json::Value;

use super::object::FlatObject;
use crate::wire::issue::excerpt;

/// Maximum number of alternatives in a sentence: a longer one would cost more than the model's next attempt.
const MAX_ALTERNATIVES: usize = 50;

/// Describes the parameters that each alternative requires in addition to those that all require; `None` if an
/// alternative requires none.
pub(super) fn describe(
    object: &FlatObject,
    alternatives: &[FlatObject],
    is_exclusive: bool,
) -> Option<String> {
    if alternatives.len() > MAX_ALTERNATIVES {
        return None;
    }
    let is_required = |name: &str| {
        let in_all = || alternatives.iter().all(|other| other.required.contains_key(name));
        object.required.contains_key(name) || in_all()
    };
    let mut additional: Vec<Vec<&str>> = Vec::new();
    for alternative in alternatives {
        let names = alternative.required.keys().map(String::as_str);
        additional.push(names.filter(|name| !is_required(name)).collect());
    }
    if additional.iter().all(Vec::is_empty) {
        return None;
    }
    if let Some(tag) = AlternativeTag::find(alternatives, is_required) {
        return Some(tag.describe(&additional));
    }
    if additional.iter().any(Vec::is_empty) {
        return None;
    }
    let mut seen = HashSet::new();
    additional.retain(|names| seen.insert(names.clone()));
    let [first, rest @ ..] = additional.as_slice() else {
        return None;
    };
    let is_single = additional.iter().all(|names| names.len() == 1);
    let names = additional.iter().map(|names| list(names));
    Some(if rest.is_empty() {
        format!("Send {}.", list(first))
    } else if is_single && is_exclusive {
        let names: Vec<&str> = additional.concat();
        format!("Send exactly one of {}.", list(&names))
    } else if is_single {
        format!("Send {}.", names.collect::<Vec<_>>().join(" or "))
    } else {
        format!("Send {}.", names.collect::<Vec<_>>().join(", or "))
    })
}

/// A property whose value differs in each alternative.
struct AlternativeTag<'s> {
    name: &'s str,
    values: Vec<&'s Value>,
}

impl<'s> AlternativeTag<'s> {
    /// Finds a property that is required and has one value in each alternative, different from the others.
    fn find(alternatives: &'s [FlatObject], is_required: impl Fn(&str) -> bool) -> Option<Self> {
        let (first, rest) = alternatives.split_first()?;
        let is_tag = |values: &[&Value]| {
            let mut others = values.iter().enumerate();
            others.all(|(index, value)| values.iter().take(index).all(|other| other != value))
        };
        if rest.is_empty() {
            return None;
        }
        first.properties.keys().find_map(|name| {
            is_required(name).then_some(())?;
            let values = alternatives
                .iter()
                .map(|object| constant(object.properties.get(name)?));
            let values: Vec<&Value> = values.collect::<Option<_>>()?;
            is_tag(&values).then_some(Self { name, values })
        })
    }

    fn describe(&self, additional: &[Vec<&str>]) -> String {
        let tag = excerpt(self.name);
        let conditions = self.values.iter().zip(additional);
        let conditions = conditions
            .filter(|(_, names)| !names.is_empty())
            .map(|(value, names)| {
                let value = value.to_string();
                format!("if `{tag}` is {}, send {}", excerpt(&value), list(names))
            });
        let sentence = conditions.collect::<Vec<_>>().join("; ");
        sentence.replacen("if", "If", 1) + "."
    }
}

/// Returns the only value of a schema.
fn constant(schema: &Value) -> Option<&Value> {
    let values = schema.get("enum").and_then(Value::as_array).map(Vec::as_slice);
    match (schema.get("const"), values) {
        (Some(value), _) | (None, Some([value])) => Some(value),
        _ => None,
    }
}

/// Writes names: "`a`, `b` and `c`".
fn list(names: &[&str]) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{}`", excerpt(name))).collect();
    match names.as_slice() {
        [] => String::new(),
        [name] => name.clone(),
        [names @ .., last] => format!("{} and {last}", names.join(", ")),
    }
}
