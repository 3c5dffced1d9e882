//! Rule 9: keys of maps. Each key conforms, is coerced, or is an error.

use std::borrow::Cow;
use std::collections::HashMap;

use super::Coercer;
use super::context::CoercionContext;
use crate::arguments::input::tree::node::{Members, Node};
use crate::arguments::limits;
use crate::arguments::report::expected::Expected;
use crate::arguments::report::messages;
use crate::arguments::report::path::Path;
use crate::arguments::rules::Mode;
use crate::schema::compiled::decimal::Decimal;
use crate::schema::compiled::pattern::Pattern;
use crate::schema::compiled::{CompiledSchema, Object, SchemaId};

/// Reading of a map's key.
#[derive(Debug)]
pub(in crate::arguments) enum KeyReading {
    AsSent,
    /// Another spelling of this key.
    Coerced(String),
    /// Key that is one of several spellings of this key.
    Shared(String),
    Refused,
}

impl<'a> Coercer<'_, 'a, '_> {
    /// Reads the keys of a map in order; a coerced key takes the place of the property that it names.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn map_keys(
        &mut self,
        members: &Members<'a>,
        object: &Object,
        places: &mut [Option<usize>],
        extras: &mut Vec<usize>,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Vec<KeyReading> {
        let entries = members.entries.iter();
        let mut keys: Vec<KeyReading> = entries
            .map(|(key, _)| self.map_key(key, object, at, context))
            .collect();
        let name_of = |sent: &'_ str, key: &KeyReading| match key {
            KeyReading::Coerced(name) => name.clone(),
            KeyReading::AsSent | KeyReading::Shared(_) | KeyReading::Refused => sent.to_owned(),
        };
        let names: Vec<String> = members
            .entries
            .iter()
            .zip(&keys)
            .map(|((sent, _), key)| name_of(sent, key))
            .collect();
        let mut counts: HashMap<&str, usize> = HashMap::with_capacity(names.len());
        for name in &names {
            *counts.entry(name).or_default() += 1;
        }
        places.fill(None);
        extras.clear();
        for (place, (key, name)) in keys.iter_mut().zip(&names).enumerate() {
            if counts.get(name.as_str()).is_some_and(|count| *count > 1) {
                *key = KeyReading::Shared(name.clone());
            }
            let property = object
                .position(name)
                .and_then(|position| places.get_mut(position));
            match (key, property) {
                (KeyReading::AsSent | KeyReading::Coerced(_), Some(slot)) => *slot = Some(place),
                _ => extras.push(place),
            }
        }
        keys
    }

    /// Reports the reading of a key, and returns its name if its value is to be read.
    #[inline(never)] // keeps its variables off the stack of each level
    pub(in crate::arguments) fn report_key<'k>(
        &mut self,
        sent: &'k str,
        key: Option<&'k KeyReading>,
        object: &Object,
        at: &Path<'_>,
    ) -> Option<&'k str> {
        match key {
            None | Some(KeyReading::AsSent) => Some(sent),
            Some(KeyReading::Coerced(name)) => {
                self.report.warn_coerced_key(&Path::Key(at, name), sent, name);
                Some(name)
            }
            Some(KeyReading::Shared(name)) => {
                self.report
                    .refuse(&Path::Key(at, sent), || messages::same_key(sent, name));
                None
            }
            Some(KeyReading::Refused) => {
                let compiled = self.compiled;
                self.report.refuse(&Path::Key(at, sent), || {
                    messages::invalid_key(sent, wanted_keys(compiled, sent, object))
                });
                None
            }
        }
    }

    fn map_key(&mut self, key: &str, object: &Object, at: &Path<'_>, context: CoercionContext) -> KeyReading {
        // No other part can allow a key that `propertyNames` excludes.
        let is_known_elsewhere = object.names.is_none() && !context.denies && self.is_known(key, context);
        if self.matches_map(key, object, at, context) || is_known_elsewhere {
            return KeyReading::AsSent;
        }
        if !context.mode.coerces() {
            return KeyReading::Refused;
        }
        let candidates = self.key_candidates(key, object, at, context);
        let mut fitting = candidates
            .into_iter()
            .filter(|name| self.matches_map(name, object, at, context));
        match fitting.next() {
            Some(name) => KeyReading::Coerced(name),
            None => KeyReading::Refused,
        }
    }

    /// Returns whether the schema of a map allows a key.
    fn matches_map(&mut self, key: &str, object: &Object, at: &Path<'_>, context: CoercionContext) -> bool {
        let matches = |pattern: &Pattern| {
            // serde does not read `-0` as an integer, which would hide `0`.
            let is_other_zero = key == "-0" && self.compiled.is_typed() && pattern.as_str() == INTEGERS;
            !is_other_zero && pattern.is_match(key)
        };
        let is_declared =
            || object.position(key).is_some() || object.patterns.iter().any(|(pattern, _)| matches(pattern));
        (!object.is_closed() || is_declared())
            && object.names.is_none_or(|names| {
                let exact = context.key().with(Mode::Exact);
                self.name_read(key, names, at, exact).is_some()
            })
    }

    /// Returns the candidates for coercing a key: the key without surrounding space, its integer (unless only the
    /// length of keys is constrained), and the only declared key or allowed name that resembles it.
    fn key_candidates(
        &mut self,
        key: &str,
        object: &Object,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Vec<String> {
        if context.case_sensitive && self.has_enum_keys(object) {
            return Vec::new();
        }
        let declared = object.resembling(key);
        let named = object
            .names
            .and_then(|names| self.name_read(key, names, at, context.key()));
        [
            declared.map(str::to_owned),
            named,
            Some(key.trim().to_owned()),
            integer(key.trim()).filter(|_| self.may_have_integer_keys(object)),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// Returns whether the allowed keys are listed.
    fn has_enum_keys(&self, object: &Object) -> bool {
        let names = object.names.and_then(|names| self.compiled.schema(names).plain());
        object.is_enum_map || names.is_some_and(|names| names.values.is_some())
    }

    /// Returns whether keys may be integers. Keys with only length limits are texts.
    fn may_have_integer_keys(&self, object: &Object) -> bool {
        let is_any_text = |names| {
            let plain = self.compiled.schema(names).plain();
            plain.is_some_and(|plain| {
                plain.values.is_none() && plain.text.as_ref().is_none_or(|text| text.pattern.is_none())
            })
        };
        !object.names.is_some_and(is_any_text)
    }

    /// Returns a name as `propertyNames` coerces it, unless it is rejected.
    fn name_read(
        &mut self,
        key: &str,
        names: SchemaId,
        at: &Path<'_>,
        context: CoercionContext,
    ) -> Option<String> {
        let node = Node::Text(Cow::Owned(key.to_owned()));
        let read = self.with_own_cache(|this| this.in_trial(|this| this.coerce(&node, names, at, context)));
        match read.value.unwrap_or(node) {
            Node::Text(name) if read.counts.errors == 0 => Some(name.into_owned()),
            _ => None,
        }
    }
}

/// Returns whether a key, or one of several keys, was read as this name.
pub(in crate::arguments) fn is_among(name: &str, keys: &[KeyReading]) -> bool {
    keys.iter()
        .any(|key| matches!(key, KeyReading::Coerced(read) | KeyReading::Shared(read) if read == name))
}

/// Returns the positions of the coerced keys, each with its new key.
pub(in crate::arguments) fn coerced<'a>(
    keys: Vec<KeyReading>,
) -> impl Iterator<Item = (usize, Cow<'a, str>)> {
    keys.into_iter().enumerate().filter_map(|(place, key)| match key {
        KeyReading::Coerced(name) => Some((place, Cow::Owned(name))),
        _ => None,
    })
}

/// Pattern for the keys of a Rust map with signed integer keys.
const INTEGERS: &str = r"^-?\d+$";

/// Describes the expected keys, for messages.
fn wanted_keys(compiled: &CompiledSchema, sent: &str, object: &Object) -> String {
    let mut declared = object
        .properties
        .iter()
        .map(|property| &*property.name)
        .peekable();
    match (object.names, object.patterns.as_slice()) {
        (Some(names), _) => {
            let schema = compiled.schema(names);
            let broken = schema
                .plain()
                .and_then(|plain| plain.text.as_ref())
                .and_then(|text| limits::check_text(text, schema.format, sent));
            broken.unwrap_or_else(|| Expected(compiled, names).to_string())
        }
        (None, _) if declared.peek().is_some() => messages::one_of_keys(declared),
        (None, []) => "no key".to_owned(),
        (None, patterns) => {
            let words = patterns.iter().map(|(regex, _)| match regex.as_str() {
                INTEGERS if sent == "-0" => "an integer, written `0`".to_owned(),
                INTEGERS => "an integer".to_owned(),
                r"^\d+$" => "an integer of at least 0".to_owned(),
                _ => limits::matching(None, regex),
            });
            words.collect::<Vec<_>>().join(", or ")
        }
    }
}

/// Parses a key as an integer. `07` is not one: it would hide `7`.
fn integer(key: &str) -> Option<String> {
    let digits = key.trim_start_matches(['+', '-']);
    let has_zeros = digits.len() > 1 && digits.starts_with('0') && !digits.starts_with("0.");
    let value = Decimal::parse(key).filter(|value| value.is_integer() && !has_zeros)?;
    value.integer_text()
}
