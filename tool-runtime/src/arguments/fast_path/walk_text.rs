//! Text against a compiled schema: whether all of it conforms to the letter, and what came for each parameter.

use super::conform;
use super::keys::{Keys, Owner};
use crate::arguments::coerce::composite::MOST_COMPOSITES;
use crate::arguments::deserialize::member::Member;
use crate::arguments::deserialize::members::Members;
use crate::arguments::tokens::{Literal, Number, Tokens};
use crate::schema::compiled::{Additional, CompiledSchema, Kind, List, Schema, SchemaId, Tag, Union};
use crate::schema::types::Types;
use crate::wire::depth;

/// Looks at the arguments as a whole; what came for each parameter is kept.
pub(super) fn arguments<'t>(
    compiled: &CompiledSchema,
    text: &'t str,
    members: &mut Members<'t>,
) -> Option<()> {
    let mut walk = Walk {
        compiled,
        text: Tokens::new(text),
        levels: MOST_LEVELS,
        composites: MOST_COMPOSITES,
        work: text.len().saturating_mul(WORK_PER_BYTE),
    };
    walk.text.skip_space();
    if walk.text.peek()? != b'{' {
        return None;
    }
    walk.object(compiled.schema(SchemaId::ROOT), Some(members))?;
    walk.text.skip_space();
    walk.text.is_at_end().then_some(())
}

/// What a value was seen to be: small enough for two registers, since every value of the arguments is handed on once.
#[derive(Clone, Copy)]
enum Seen {
    Null,
    False,
    True,
    Unsigned(u64),
    Signed(i64),
    /// A string without escapes.
    Text,
    /// Anything else.
    Json,
}

impl Seen {
    /// The same, as its type will read it from its text.
    fn member(self, json: &str) -> Option<Member<'_>> {
        Some(match self {
            Self::Null => Member::Null,
            Self::False => Member::Bool(false),
            Self::True => Member::Bool(true),
            Self::Unsigned(value) => Member::Unsigned(value),
            Self::Signed(value) => Member::Signed(value),
            Self::Text => Member::Text(json.get(1..json.len().checked_sub(1)?)?),
            Self::Json => Member::Json(json),
        })
    }
}

/// Below the arguments as a whole.
pub(super) const MOST_LEVELS: usize = depth::MAX_DEPTH - 1;

/// How often a byte may be looked at again for the sake of a union.
const WORK_PER_BYTE: usize = 8;

struct Walk<'s, 't> {
    compiled: &'s CompiledSchema,
    text: Tokens<'t>,
    /// How many more may be opened.
    levels: usize,
    /// How many more unions may stand in one another: no more than the tree takes.
    composites: usize,
    /// How many bytes may still be looked at again.
    work: usize,
}

impl<'s, 't> Walk<'s, 't> {
    fn value(&mut self, schema: &'s Schema) -> Option<Seen> {
        if let Kind::Union(alternatives) = &schema.kind {
            return self.alternatives(alternatives);
        }
        match self.text.peek()? {
            b'"' => {
                let literal = self.text.literal().ok()?;
                if literal.is_plain {
                    conform::text(schema, literal.inside).then_some(Seen::Text)
                } else {
                    escaped(schema, literal)
                }
            }
            b'{' => self.whole(|walk| walk.object(schema, None)),
            b'[' => self.whole(|walk| walk.list(schema)),
            b't' => self.word("true", Seen::True, conform::boolean(schema)),
            b'f' => self.word("false", Seen::False, conform::boolean(schema)),
            b'n' => self.word("null", Seen::Null, conform::null(schema)),
            _ => {
                let number = self.text.number().ok()?;
                if number.text == "-0" {
                    // To an alternative that takes integers it is `0`, to others it is not: no trial may end with it.
                    self.work = 0;
                }
                self::number(schema, number)
            }
        }
    }

    fn word(&mut self, word: &str, seen: Seen, conforms: bool) -> Option<Seen> {
        (self.text.take_word(word) && conforms).then_some(seen)
    }

    /// A value with parts of its own, one level deeper.
    fn whole(&mut self, walk: impl FnOnce(&mut Self) -> Option<()>) -> Option<Seen> {
        self.levels = self.levels.checked_sub(1)?;
        walk(self)?;
        self.levels += 1;
        Some(Seen::Json)
    }

    /// An object; those of the arguments as a whole are kept.
    fn object(&mut self, schema: &'s Schema, mut members: Option<&mut Members<'t>>) -> Option<()> {
        let mut keys = Keys::new(self.compiled, schema, members.is_some())?;
        self.text.take(b'{').then_some(())?;
        self.text.skip_space();
        if self.text.peek()? == b'}' {
            self.text.at += 1;
            return keys.are_complete().then_some(());
        }
        loop {
            let owner = self.key(&mut keys)?;
            self.text.skip_space();
            match owner {
                Owner::Property(place, schema) => {
                    let start = self.text.at;
                    let seen = self.value(self.compiled.schema(schema))?;
                    if let Some(members) = &mut members {
                        members.set(place, seen.member(self.text.since(start))?);
                    }
                }
                Owner::Other(schema) => {
                    self.value(self.compiled.schema(schema))?;
                }
                Owner::Anybody => {
                    self.value(&Schema::ANY)?;
                }
            }
            self.text.skip_space();
            match self.text.next()? {
                b',' => self.text.skip_space(),
                b'}' => return keys.are_complete().then_some(()),
                _ => return None,
            }
        }
    }

    /// A key and the colon behind it.
    #[inline]
    fn key(&mut self, keys: &mut Keys<'s, 't>) -> Option<Owner> {
        if let Some(written) = keys.expected()
            && self.text.take_written(written)
        {
            return keys.take_expected();
        }
        self.other_key(keys)
    }

    /// The same, of a key that was not expected.
    #[inline(never)]
    fn other_key(&mut self, keys: &mut Keys<'s, 't>) -> Option<Owner> {
        let Literal { inside, is_plain } = self.text.literal().ok()?;
        let owner = keys.next(inside).filter(|_| is_plain)?;
        self.text.skip_space();
        self.text.take(b':').then_some(())?;
        Some(owner)
    }

    fn list(&mut self, schema: &'s Schema) -> Option<()> {
        let list = conform::list(schema)?;
        let mut count = 0;
        self.text.take(b'[').then_some(())?;
        self.text.skip_space();
        if self.text.peek()? == b']' {
            self.text.at += 1;
            return conform::count(list, count).then_some(());
        }
        loop {
            self.value(item(self.compiled, list, count)?)?;
            count += 1;
            self.text.skip_space();
            match self.text.next()? {
                b',' => self.text.skip_space(),
                b']' => return conform::count(list, count).then_some(()),
                _ => return None,
            }
        }
    }

    /// Whatever the tree would take as it was sent: `null`, what the tag names, the first that conforms.
    fn alternatives(&mut self, alternatives: &'s Union) -> Option<Seen> {
        self.composites = self.composites.checked_sub(1)?;
        let seen = self.alternative(alternatives);
        self.composites += 1;
        seen
    }

    fn alternative(&mut self, alternatives: &'s Union) -> Option<Seen> {
        match (self.text.peek()?, &alternatives.tag) {
            (b'n', _) if alternatives.null => self.word("null", Seen::Null, true),
            (b'{', Some(tag)) => {
                let schema = self.tagged(tag)?;
                self.value(self.compiled.schema(schema))
            }
            _ => self.first(alternatives),
        }
    }

    fn first(&mut self, alternatives: &'s Union) -> Option<Seen> {
        let mut taken = None;
        let types = self.types()?;
        // A no is not final. Of these none but one may conform, or an earlier one counts although it does not know a key.
        let is_no_final = !(alternatives.exclusive
            || self.compiled.is_typed() && types.overlaps(Types::ARRAY | Types::OBJECT));
        for schema in &alternatives.schemas {
            let schema = self.compiled.schema(*schema);
            if !schema.types.overlaps(types) {
                continue;
            }
            let mut trial = Self { ..*self };
            let found = trial.value(schema);
            self.look_back(&trial)?;
            match found {
                Some(_) if taken.is_some() => return None,
                Some(seen) => taken = Some((trial.text, seen)),
                None if is_no_final => {}
                None => return None,
            }
            if taken.is_some() && !alternatives.exclusive {
                break;
            }
        }
        let (text, seen) = taken?;
        self.text = text;
        Some(seen)
    }

    /// The types that the value to come may have, by its first byte.
    fn types(&self) -> Option<Types> {
        // To an alternative that takes integers `-0` is `0`, to others it is not.
        if { self.text }.take_word("-0") {
            return None;
        }
        Some(match self.text.peek()? {
            b'"' => Types::STRING,
            b'{' => Types::OBJECT,
            b'[' => Types::ARRAY,
            b't' | b'f' => Types::BOOLEAN,
            b'n' => Types::NULL,
            _ => Types::NUMBER,
        })
    }

    /// The schema that an object's tag names.
    fn tagged(&mut self, tag: &Tag) -> Option<SchemaId> {
        let mut ahead = Self { ..*self };
        ahead.text.take(b'{').then_some(())?;
        ahead.text.skip_space();
        let literal = match tag {
            Tag::Key(_) => ahead.text.literal().ok(),
            Tag::Property { name, .. } => ahead.member(name),
        };
        // Also when it was looked for in vain.
        self.look_back(&ahead)?;
        let (Tag::Key(schemas) | Tag::Property { values: schemas, .. }) = tag;
        named(schemas, literal?)
    }

    /// What another walk looked at is looked at again; `None` when that happened too often.
    fn look_back(&mut self, other: &Self) -> Option<()> {
        let again = other.text.at - self.text.at + 1;
        self.work = other.work.saturating_sub(again);
        (self.work > 0).then_some(())
    }

    /// The string that stands behind a key, in an object that was just opened.
    fn member(&mut self, name: &str) -> Option<Literal<'t>> {
        loop {
            let Literal { inside, is_plain } = self.text.literal().ok()?;
            let is_it = is_plain && inside == name;
            self.text.skip_space();
            self.text.take(b':').then_some(())?;
            self.text.skip_space();
            if is_it {
                return self.text.literal().ok();
            }
            self.value(&Schema::ANY)?;
            self.text.skip_space();
            self.text.take(b',').then_some(())?;
            self.text.skip_space();
        }
    }
}

/// The schema of the item in that place; `None` when there is none to be.
pub(super) fn item<'s>(compiled: &'s CompiledSchema, list: &List, place: usize) -> Option<&'s Schema> {
    match (list.item(place), list.additional) {
        (Some(schema), _) => Some(compiled.schema(schema)),
        (None, Additional::Unspecified | Additional::Any) => Some(&Schema::ANY),
        (None, _) => None,
    }
}

fn named(schemas: &[(Box<str>, SchemaId)], literal: Literal<'_>) -> Option<SchemaId> {
    let mut schemas = schemas.iter().filter(|_| literal.is_plain);
    schemas
        .find(|(name, _)| **name == *literal.inside)
        .map(|(_, schema)| *schema)
}

/// A string with escapes.
#[cold]
fn escaped(schema: &Schema, literal: Literal<'_>) -> Option<Seen> {
    let text = literal.decode().ok()?;
    conform::text(schema, &text).then_some(Seen::Json)
}

fn number(schema: &Schema, number: Number<'_>) -> Option<Seen> {
    let Number {
        text,
        is_whole,
        digits,
    } = number;
    if !is_whole || text == "-0" {
        let value = || text.parse().unwrap_or(f64::NAN);
        // The largest float has 309 digits.
        let is_finite = text.len() < 300 && !text.contains(['e', 'E']) || value().is_finite();
        return (is_finite && conform::float(schema, value)).then_some(Seen::Json);
    }
    let is_negative = text.starts_with('-');
    if let Some(value) = digits
        && !is_negative
    {
        return conform::integer(schema, value).then_some(Seen::Unsigned(value));
    }
    let value = text.parse::<i128>().ok()?;
    conform::integer(schema, value).then_some(match (i64::try_from(value), u64::try_from(value)) {
        (Ok(value), _) if is_negative => Seen::Signed(value),
        (_, Ok(value)) => Seen::Unsigned(value),
        _ => Seen::Json,
    })
}
