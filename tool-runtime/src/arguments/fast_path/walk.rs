//! Checks that arguments conform to a compiled schema exactly, and finds the value of each parameter.

use std::borrow::Cow;

use serde_json::Value;

use super::conform;
use super::keys::Keys;
use crate::arguments::coerce::MAX_COMPOSITES;
use crate::arguments::deserialize::argument::{Argument, Arguments};
use crate::arguments::deserialize::cursor::{Cursor, Json, NumberToken, Scalar};
use crate::arguments::input::tokens::Tokens;
use crate::schema::compiled::name::KeyPrefix;
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Additional, CompiledSchema, Kind, List, Schema, SchemaId, Tag, Union};
use crate::wire::depth;

/// Checks JSON text.
pub(super) fn text<'a>(compiled: &CompiledSchema, text: &'a str, found: &mut Arguments<'a>) -> Option<()> {
    // Long texts get a larger limit.
    let work = MAX_WORK.saturating_add(text.len().saturating_mul(WORK_PER_BYTE));
    let mut text = arguments(compiled, Tokens::new(text), work, found)?;
    text.skip_space();
    text.is_at_end().then_some(())
}

/// Checks a value.
pub(super) fn value<'a>(
    compiled: &CompiledSchema,
    value: &'a Value,
    found: &mut Arguments<'a>,
) -> Option<()> {
    arguments(compiled, value, MAX_WORK, found).map(drop)
}

/// Maximum work of a walk: unions that need more are left to the tree.
const MAX_WORK: usize = 100_000;

/// Additional work for each byte of text.
const WORK_PER_BYTE: usize = 8;

/// Input of the walk: text or a value.
trait Source<'a>: Cursor<'a> {
    /// Takes a key with its colon, if it is spelled exactly like this.
    fn take_key(&mut self, written: &KeyPrefix) -> bool;

    /// Returns a scalar that was read, if reading it again would cost time.
    fn scalar(read: Scalar<'a>) -> Option<Scalar<'a>>;

    /// Returns the value between two positions, which may be a scalar.
    fn until(self, end: Self, scalar: Option<Scalar<'a>>) -> Argument<'a>;

    /// Returns the work between two positions.
    fn work(self, end: Self) -> usize;
}

impl<'a> Source<'a> for Tokens<'a> {
    #[inline]
    fn take_key(&mut self, written: &KeyPrefix) -> bool {
        self.take_key_text(written)
    }

    #[inline]
    fn scalar(read: Scalar<'a>) -> Option<Scalar<'a>> {
        Some(read)
    }

    #[inline]
    fn until(self, end: Self, scalar: Option<Scalar<'a>>) -> Argument<'a> {
        scalar.map_or(Argument::Json(self, end.at), Argument::Scalar)
    }

    fn work(self, end: Self) -> usize {
        end.at - self.at
    }
}

impl<'a> Source<'a> for &'a Value {
    #[inline]
    fn take_key(&mut self, _: &KeyPrefix) -> bool {
        false
    }

    #[inline]
    fn scalar(_: Scalar<'a>) -> Option<Scalar<'a>> {
        None
    }

    #[inline]
    fn until(self, _: Self, _: Option<Scalar<'a>>) -> Argument<'a> {
        Argument::Value(self)
    }

    fn work(self, _: Self) -> usize {
        1
    }
}

/// Checks the root of the arguments, and returns the position after it.
fn arguments<'a, C: Source<'a>>(
    compiled: &CompiledSchema,
    json: C,
    work: usize,
    found: &mut Arguments<'a>,
) -> Option<C> {
    let mut walk = FastPathWalk {
        compiled,
        json,
        scalar: None,
        levels: depth::MAX_DEPTH - 1,
        composites: MAX_COMPOSITES,
        unions: 0,
        work,
    };
    let Ok(Json::Object(entries, _)) = walk.json.read() else {
        return None;
    };
    walk.object(compiled.schema(SchemaId::ROOT), entries, Some(found))?;
    Some(walk.json)
}

#[derive(Clone, Copy)]
struct FastPathWalk<'s, 'a, C> {
    compiled: &'s CompiledSchema,
    json: C,
    /// Last value, if it is a scalar in text: a parameter need not read it again.
    scalar: Option<Scalar<'a>>,
    /// Number of levels that may still be entered.
    levels: usize,
    /// Number of unions that may still be nested: the limit of the tree.
    composites: usize,
    /// Number of open unions whose alternatives are being tried.
    unions: usize,
    /// Number of values, bytes of strings and keys that may still be visited again because of unions.
    work: usize,
}

impl<'s, 'a, C: Source<'a>> FastPathWalk<'s, 'a, C> {
    fn value(&mut self, schema: &'s Schema) -> Option<()> {
        self.scalar = None;
        if let Kind::Union(alternatives) = &schema.kind {
            return self.alternatives(alternatives);
        }
        if self.unions > 1 {
            self.work(1)?;
        }
        let conforms = match self.json.read().ok()? {
            Json::List(items, _) => {
                self.levels = self.levels.checked_sub(1)?;
                self.list(schema, items)?;
                self.levels += 1;
                self.scalar = None;
                true
            }
            Json::Object(entries, _) => {
                self.levels = self.levels.checked_sub(1)?;
                self.object(schema, entries, None)?;
                self.levels += 1;
                self.scalar = None;
                true
            }
            Json::Null => {
                self.scalar = C::scalar(Scalar::Null);
                conform::null(schema)
            }
            Json::Bool(is) => {
                self.scalar = C::scalar(Scalar::Bool(is));
                conform::boolean(schema)
            }
            Json::Text(text) => {
                if self.unions > 1 {
                    self.work(text.len())?;
                }
                if let Cow::Borrowed(text) = text {
                    self.scalar = C::scalar(Scalar::Text(text));
                }
                conform::text(schema, &text)
            }
            Json::Number(number) => {
                self.scalar = C::scalar(Scalar::Number(number));
                if self.unions > 0 && is_zero_with_sign(number) {
                    // `-0` is `0` for alternatives with integers and not for others, so no trial may depend on it.
                    self.work = 0;
                }
                self::number(schema, number)
            }
        };
        conforms.then_some(())
    }

    /// Checks an object after its opening bracket; the arguments of the root are kept.
    fn object(
        &mut self,
        schema: &'s Schema,
        mut entries: C::Entries,
        mut found: Option<&mut Arguments<'a>>,
    ) -> Option<()> {
        let mut keys = Keys::new(self.compiled, schema, found.is_some())?;
        while self.json.next_entry(&mut entries).ok()? {
            let schema = self.key(&mut keys, &entries)?;
            let start = self.json;
            self.value(schema)?;
            if let (Some(found), Some(place)) = (&mut found, keys.property) {
                found.set(place, start.until(self.json, self.scalar));
            }
        }
        keys.are_complete().then_some(())
    }

    #[inline]
    fn key(&mut self, keys: &mut Keys<'s, 'a>, entries: &C::Entries) -> Option<&'s Schema> {
        if let Some(written) = keys.expected()
            && self.json.take_key(written)
        {
            return keys.take_expected();
        }
        let key = self.json.key(entries).ok()?;
        if self.unions > 1 {
            self.work(key.len())?;
        }
        keys.next(key)
    }

    fn list(&mut self, schema: &'s Schema, mut items: C::Items) -> Option<()> {
        let list = conform::list(schema)?;
        let mut count = 0;
        while self.json.next_item(&mut items).ok()? {
            self.value(item(self.compiled, list, count)?)?;
            count += 1;
        }
        conform::count(list, count).then_some(())
    }

    /// Checks the alternative that the tree would choose for an unchanged value: `null`, the tag's, or the first that
    /// conforms.
    fn alternatives(&mut self, alternatives: &'s Union) -> Option<()> {
        self.composites = self.composites.checked_sub(1)?;
        match (self.json.types().ok()?, &alternatives.tag) {
            (Types::NULL, _) if alternatives.null => drop(self.json.read().ok()?),
            (Types::OBJECT, Some(tag)) => {
                let schema = self.trial(|walk| walk.tagged(tag))?;
                self.value(self.compiled.schema(schema))?;
            }
            (types, _) => self.first(alternatives, types)?,
        }
        self.composites += 1;
        Some(())
    }

    fn first(&mut self, alternatives: &'s Union, types: Types) -> Option<()> {
        let mut taken = None;
        // A mismatch may be a false negative. Then a second alternative of an exclusive union could match, or serde
        // could choose an earlier alternative without some of the keys.
        let is_no_final = !(alternatives.exclusive
            || self.compiled.is_typed() && types.overlaps(Types::ARRAY | Types::OBJECT));
        for schema in &alternatives.schemas {
            let schema = self.compiled.schema(*schema);
            if !schema.types.overlaps(types) {
                continue;
            }
            match self.trial(|walk| walk.value(schema).map(|()| walk.json)) {
                Some(_) if taken.is_some() => return None,
                None if !is_no_final || self.work == 0 => return None,
                found => taken = taken.or(found),
            }
            if taken.is_some() && !alternatives.exclusive {
                break;
            }
        }
        self.json = taken?;
        Some(())
    }

    /// Runs a trial, whose values are visited again. A match does not count after too many visits.
    fn trial<T>(&mut self, look: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut trial = Self {
            unions: self.unions + 1,
            ..*self
        };
        let found = look(&mut trial);
        self.work = trial.work;
        found.filter(|_| self.work > 0)
    }

    /// Counts repeated visits.
    fn work(&mut self, work: usize) -> Option<()> {
        self.work = self.work.saturating_sub(work);
        (self.work > 0).then_some(())
    }

    /// Returns the schema of an object's tag.
    fn tagged(&mut self, tag: &Tag) -> Option<SchemaId> {
        let Ok(Json::Object(mut entries, _)) = self.json.read() else {
            return None;
        };
        let named = |schemas: &[(Box<str>, SchemaId)], name: &str| {
            let mut schemas = schemas.iter();
            schemas
                .find(|(known, _)| **known == *name)
                .map(|(_, schema)| *schema)
        };
        while self.json.next_entry(&mut entries).ok()? {
            let key = self.json.key(&entries).ok()?;
            match tag {
                Tag::Key(schemas) => return named(schemas, key),
                Tag::Property { name, values, .. } if **name == *key => {
                    return match self.json.read().ok()? {
                        Json::Text(value) => named(values, &value),
                        _ => None,
                    };
                }
                Tag::Property { .. } => {
                    let start = self.json;
                    self.json.skip().ok()?;
                    self.work(key.len() + start.work(self.json))?;
                }
            }
        }
        None
    }
}

/// Returns the schema of the item at a position; `None` if no item is allowed there.
fn item<'s>(compiled: &'s CompiledSchema, list: &List, place: usize) -> Option<&'s Schema> {
    match (list.item(place), list.additional) {
        (Some(schema), _) => Some(compiled.schema(schema)),
        (None, Additional::Unspecified | Additional::Any) => Some(&Schema::ANY),
        (None, _) => None,
    }
}

/// Returns whether a number may be `-0`, which not every `Value` distinguishes from `0.0`.
fn is_zero_with_sign(number: NumberToken<'_>) -> bool {
    match number {
        NumberToken::Float(value) => value == 0.0,
        NumberToken::Text(text) => text == "-0",
        NumberToken::Unsigned(_) | NumberToken::Signed(_) => false,
    }
}

/// Returns whether a number conforms.
#[inline]
fn number(schema: &Schema, number: NumberToken<'_>) -> bool {
    let whole = match number {
        NumberToken::Unsigned(value) => value.into(),
        NumberToken::Signed(value) => value.into(),
        NumberToken::Float(_) | NumberToken::Text(_) => return uncommon(schema, number),
    };
    conform::integer(schema, whole)
}

/// Reads a number with a fraction, an exponent or many digits.
#[cold]
fn uncommon(schema: &Schema, number: NumberToken<'_>) -> bool {
    let text = match number {
        NumberToken::Text(text) => text,
        // A larger float may come from an integer, and a float without a fraction may be an integer.
        number => return number.float().abs() < MAX_FRACTIONAL && conform::float(schema, || number.float()),
    };
    if text != "-0" && !text.contains(['.', 'e', 'E']) {
        return text.parse().is_ok_and(|value| conform::integer(schema, value));
    }
    // The largest float has 309 digits.
    let is_finite = text.len() < 300 && !text.contains(['e', 'E']) || number.float().is_finite();
    is_finite && conform::float(schema, || number.float())
}

/// Above this, floats have no fraction.
const MAX_FRACTIONAL: f64 = 4_503_599_627_370_496.0;
