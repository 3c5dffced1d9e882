//! A cursor over JSON that is read once: text, a `serde_json::Value`, or the tree.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::de::{Error, Unexpected, Visitor};
use serde_json::{Value, map};

use super::error::DeserializeError;
use crate::arguments::input::tokens::Tokens;
use crate::arguments::input::tree::node::Node;
use crate::schema::compiled::decimal::Decimal;
use crate::schema::compiled::types::Types;

/// Position before a value. A read of a value in text moves the cursor to the end of the value.
pub(in crate::arguments) trait Cursor<'de>: Copy {
    /// Whether errors need messages; errors of the fast path are never read.
    const EXPLAINS: bool;
    /// Remaining items of a list.
    type Items;
    /// Remaining entries of an object.
    type Entries;

    /// Returns the type of the value; any number is a `NUMBER`.
    fn types(&mut self) -> Result<Types, DeserializeError>;

    /// Reads a scalar, or enters a list or an object.
    fn read(&mut self) -> Result<Json<'de, Self>, DeserializeError>;

    /// Moves to the next item; `false` at the end.
    fn next_item(&mut self, items: &mut Self::Items) -> Result<bool, DeserializeError>;

    /// Moves to the next key; `false` at the end.
    fn next_entry(&mut self, entries: &mut Self::Entries) -> Result<bool, DeserializeError>;

    /// Reads the key and moves to its value.
    fn key(&mut self, entries: &Self::Entries) -> Result<&'de str, DeserializeError>;

    /// Skips a value.
    fn skip(&mut self) -> Result<(), DeserializeError>;

    /// Returns the text of a value.
    fn raw(&mut self) -> Result<String, DeserializeError>;
}

/// A scalar, or the beginning of a list or an object.
pub(in crate::arguments) enum Json<'de, C: Cursor<'de>> {
    Null,
    Bool(bool),
    Number(NumberToken<'de>),
    Text(Cow<'de, str>),
    /// A list with the number of its items, if known.
    List(C::Items, Option<usize>),
    Object(C::Entries, Option<usize>),
}

impl<'de, C: Cursor<'de>> Json<'de, C> {
    pub(super) fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Self::Null => Unexpected::Unit,
            Self::Bool(is) => Unexpected::Bool(*is),
            Self::Number(number) => Unexpected::Float(number.float()),
            Self::Text(text) => Unexpected::Str(text),
            Self::List(..) => Unexpected::Seq,
            Self::Object(..) => Unexpected::Map,
        }
    }
}

/// A number as in `serde_json`: an integer if 64 bits can hold it (`-0` is a float), otherwise a float.
#[derive(Debug, Clone, Copy)]
pub(crate) enum NumberToken<'de> {
    Unsigned(u64),
    Signed(i64),
    Float(f64),
    /// A number that is not parsed, or an integer of more than 64 bits.
    Text(&'de str),
}

impl<'de> NumberToken<'de> {
    #[cold]
    fn parse(text: &'de str) -> Self {
        if let Ok(value) = text.parse() {
            return Self::Unsigned(value);
        }
        match text.parse() {
            Ok(value) if value != 0 => Self::Signed(value),
            _ => Self::Text(text),
        }
    }

    #[allow(clippy::cast_precision_loss, reason = "rounded as the text would be")]
    pub(in crate::arguments) fn float(self) -> f64 {
        match self {
            Self::Unsigned(value) => value as f64,
            Self::Signed(value) => value as f64,
            Self::Float(value) => value,
            Self::Text(text) => text.parse().unwrap_or(f64::NAN),
        }
    }

    /// Returns the value if it is an integer in any notation.
    #[inline]
    pub(super) fn integer<T: FromStr + TryFrom<u64> + TryFrom<i64>>(self) -> Option<T> {
        match self {
            Self::Unsigned(value) => value.try_into().ok(),
            Self::Signed(value) => value.try_into().ok(),
            Self::Float(_) | Self::Text(_) => self.written_otherwise(),
        }
    }

    #[cold]
    fn written_otherwise<T: FromStr>(self) -> Option<T> {
        let float;
        let text = match self {
            Self::Text(text) => text,
            number => {
                float = number.float().to_string();
                &float
            }
        };
        if let Ok(value) = text.parse() {
            return Some(value);
        }
        let value = Decimal::parse(text).filter(Decimal::is_integer)?;
        value.integer_text()?.parse().ok()
    }

    pub(super) fn visit<V: Visitor<'de>, E: Error>(self, visitor: V) -> Result<V::Value, E> {
        match self {
            Self::Unsigned(value) => visitor.visit_u64(value),
            Self::Signed(value) => visitor.visit_i64(value),
            Self::Float(_) | Self::Text(_) => visitor.visit_f64(self.float()),
        }
    }
}

/// Position in a list or an object in text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::arguments) enum Left {
    All,
    Some,
    Nothing,
}

impl Left {
    /// Moves after the comma before the next part, or after the closing bracket.
    #[inline]
    fn next(&mut self, text: &mut Tokens<'_>, close: u8) -> Result<bool, DeserializeError> {
        if *self == Self::Nothing {
            return Ok(false);
        }
        text.skip_space();
        if text.take(close) {
            *self = Self::Nothing;
            return Ok(false);
        }
        if *self == Self::Some {
            if !text.take(b',') {
                return Err(DeserializeError::fall_back());
            }
            text.skip_space();
        }
        *self = Self::Some;
        Ok(true)
    }
}

impl<'de> Cursor<'de> for Tokens<'de> {
    const EXPLAINS: bool = false;
    type Items = Left;
    type Entries = Left;

    #[inline]
    fn types(&mut self) -> Result<Types, DeserializeError> {
        self.skip_space();
        Ok(match self.peek().ok_or_else(DeserializeError::fall_back)? {
            b'"' => Types::STRING,
            b'{' => Types::OBJECT,
            b'[' => Types::ARRAY,
            b't' | b'f' => Types::BOOLEAN,
            b'n' => Types::NULL,
            _ => Types::NUMBER,
        })
    }

    #[inline(always)]
    #[allow(
        clippy::inline_always,
        reason = "the type is known at the call, which saves several % of a call"
    )]
    fn read(&mut self) -> Result<Json<'de, Self>, DeserializeError> {
        self.skip_space();
        Ok(match self.peek().ok_or_else(DeserializeError::fall_back)? {
            b'"' => Json::Text(match self.plain_string() {
                Some(text) => Cow::Borrowed(text),
                None => self.string()?,
            }),
            b'{' => {
                self.at += 1;
                Json::Object(Left::All, None)
            }
            b'[' => {
                self.at += 1;
                Json::List(Left::All, None)
            }
            b't' if self.take_word("true") => Json::Bool(true),
            b'f' if self.take_word("false") => Json::Bool(false),
            b'n' if self.take_word("null") => Json::Null,
            _ => Json::Number(match self.natural() {
                Some(value) => NumberToken::Unsigned(value),
                None => NumberToken::parse(self.number()?),
            }),
        })
    }

    #[inline]
    fn next_item(&mut self, items: &mut Left) -> Result<bool, DeserializeError> {
        items.next(self, b']')
    }

    #[inline]
    fn next_entry(&mut self, entries: &mut Left) -> Result<bool, DeserializeError> {
        entries.next(self, b'}')
    }

    /// Reads the key, which has no escapes on the fast path.
    #[inline]
    fn key(&mut self, _: &Left) -> Result<&'de str, DeserializeError> {
        let key = self.plain_string().ok_or_else(DeserializeError::fall_back)?;
        self.skip_space();
        self.take(b':')
            .then_some(key)
            .ok_or_else(DeserializeError::fall_back)
    }

    fn skip(&mut self) -> Result<(), DeserializeError> {
        let mut open = 0_usize;
        loop {
            self.skip_space();
            match self.peek().ok_or_else(DeserializeError::fall_back)? {
                b'[' | b'{' => {
                    open += 1;
                    self.at += 1;
                }
                b']' | b'}' => {
                    open = open.checked_sub(1).ok_or_else(DeserializeError::fall_back)?;
                    self.at += 1;
                }
                b',' | b':' => self.at += 1,
                _ => drop(self.read()?),
            }
            if open == 0 {
                return Ok(());
            }
        }
    }

    fn raw(&mut self) -> Result<String, DeserializeError> {
        self.skip_space();
        let start = self.at;
        self.skip()?;
        Ok(self.since(start).to_owned())
    }
}

/// The remaining entries of an object, and the last key.
pub(crate) struct KeyedEntries<'de, I> {
    entries: I,
    key: &'de str,
}

impl<I> KeyedEntries<'_, I> {
    #[inline]
    fn new(entries: I) -> Self {
        Self { entries, key: "" }
    }
}

impl<'de> Cursor<'de> for &'de Value {
    const EXPLAINS: bool = false;
    type Items = std::slice::Iter<'de, Value>;
    type Entries = KeyedEntries<'de, map::Iter<'de>>;

    #[inline]
    fn types(&mut self) -> Result<Types, DeserializeError> {
        Ok(match self {
            Value::Null => Types::NULL,
            Value::Bool(_) => Types::BOOLEAN,
            Value::Number(_) => Types::NUMBER,
            Value::String(_) => Types::STRING,
            Value::Array(_) => Types::ARRAY,
            Value::Object(_) => Types::OBJECT,
        })
    }

    #[inline]
    fn read(&mut self) -> Result<Json<'de, Self>, DeserializeError> {
        Ok(match self {
            Value::Null => Json::Null,
            Value::Bool(is) => Json::Bool(*is),
            Value::Number(number) => Json::Number(if let Some(value) = number.as_u64() {
                NumberToken::Unsigned(value)
            // With `arbitrary_precision` this may be the 0 of `-0`, which is a float.
            } else if let Some(value) = number.as_i64().filter(|value| *value != 0) {
                NumberToken::Signed(value)
            } else {
                NumberToken::Float(number.as_f64().ok_or_else(DeserializeError::fall_back)?)
            }),
            Value::String(text) => Json::Text(Cow::Borrowed(text)),
            Value::Array(items) => Json::List(items.iter(), Some(items.len())),
            Value::Object(map) => Json::Object(KeyedEntries::new(map.iter()), Some(map.len())),
        })
    }

    #[inline]
    fn next_item(&mut self, items: &mut Self::Items) -> Result<bool, DeserializeError> {
        let item = items.next();
        *self = item.unwrap_or(self);
        Ok(item.is_some())
    }

    #[inline]
    fn next_entry(&mut self, entries: &mut Self::Entries) -> Result<bool, DeserializeError> {
        let Some((key, value)) = entries.entries.next() else {
            return Ok(false);
        };
        (entries.key, *self) = (key, value);
        Ok(true)
    }

    #[inline]
    fn key(&mut self, entries: &Self::Entries) -> Result<&'de str, DeserializeError> {
        Ok(entries.key)
    }

    fn skip(&mut self) -> Result<(), DeserializeError> {
        Ok(())
    }

    fn raw(&mut self) -> Result<String, DeserializeError> {
        written(&Node::from_value(self)).map_err(Error::custom)
    }
}

impl<'de, 'a> Cursor<'de> for &'de Node<'a> {
    const EXPLAINS: bool = true;
    type Items = std::slice::Iter<'de, Node<'a>>;
    type Entries = KeyedEntries<'de, std::slice::Iter<'de, (Cow<'a, str>, Node<'a>)>>;

    fn types(&mut self) -> Result<Types, DeserializeError> {
        Ok(match self {
            Node::Number(_) => Types::NUMBER,
            other => Node::types(other),
        })
    }

    fn read(&mut self) -> Result<Json<'de, Self>, DeserializeError> {
        Ok(match self {
            Node::Null => Json::Null,
            Node::Bool(is) => Json::Bool(*is),
            Node::Number(number) if number.as_integer => {
                let text = NumberToken::Text(&number.text);
                let unsigned = || text.integer().map(NumberToken::Unsigned);
                let signed = || text.integer().map(NumberToken::Signed);
                Json::Number(unsigned().or_else(signed).unwrap_or(text))
            }
            Node::Number(number) => Json::Number(NumberToken::parse(&number.text)),
            Node::Text(text) => Json::Text(Cow::Borrowed(text)),
            Node::List(items) => Json::List(items.iter(), Some(items.len())),
            Node::Object(members) => Json::Object(
                KeyedEntries::new(members.entries.iter()),
                Some(members.entries.len()),
            ),
        })
    }

    fn next_item(&mut self, items: &mut Self::Items) -> Result<bool, DeserializeError> {
        let item = items.next();
        *self = item.unwrap_or(self);
        Ok(item.is_some())
    }

    fn next_entry(&mut self, entries: &mut Self::Entries) -> Result<bool, DeserializeError> {
        let Some((key, value)) = entries.entries.next() else {
            return Ok(false);
        };
        (entries.key, *self) = (key, value);
        Ok(true)
    }

    fn key(&mut self, entries: &Self::Entries) -> Result<&'de str, DeserializeError> {
        Ok(entries.key)
    }

    fn skip(&mut self) -> Result<(), DeserializeError> {
        Ok(())
    }

    fn raw(&mut self) -> Result<String, DeserializeError> {
        written(self).map_err(Error::custom)
    }
}

/// A scalar that was already read from text, without escapes.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Scalar<'de> {
    Null,
    Bool(bool),
    Number(NumberToken<'de>),
    Text(&'de str),
}

impl<'de> Cursor<'de> for Scalar<'de> {
    const EXPLAINS: bool = false;
    type Items = ();
    type Entries = ();

    #[inline]
    fn types(&mut self) -> Result<Types, DeserializeError> {
        Ok(match self {
            Self::Null => Types::NULL,
            Self::Bool(_) => Types::BOOLEAN,
            Self::Number(_) => Types::NUMBER,
            Self::Text(_) => Types::STRING,
        })
    }

    #[inline]
    fn read(&mut self) -> Result<Json<'de, Self>, DeserializeError> {
        Ok(match *self {
            Self::Null => Json::Null,
            Self::Bool(is) => Json::Bool(is),
            Self::Number(number) => Json::Number(number),
            Self::Text(text) => Json::Text(Cow::Borrowed(text)),
        })
    }

    fn next_item(&mut self, (): &mut ()) -> Result<bool, DeserializeError> {
        Ok(false)
    }

    fn next_entry(&mut self, (): &mut ()) -> Result<bool, DeserializeError> {
        Ok(false)
    }

    fn key(&mut self, (): &()) -> Result<&'de str, DeserializeError> {
        Err(DeserializeError::fall_back())
    }

    fn skip(&mut self) -> Result<(), DeserializeError> {
        Ok(())
    }

    fn raw(&mut self) -> Result<String, DeserializeError> {
        let node = match *self {
            Self::Null => Node::Null,
            Self::Bool(is) => Node::Bool(is),
            Self::Number(NumberToken::Unsigned(value)) => Node::number(value.to_string()),
            Self::Number(NumberToken::Signed(value)) => Node::number(value.to_string()),
            Self::Number(NumberToken::Text(text)) => Node::number(text),
            Self::Number(NumberToken::Float(_)) => return Err(DeserializeError::fall_back()),
            Self::Text(text) => Node::Text(text.into()),
        };
        written(&node).map_err(Error::custom)
    }
}

fn written(node: &Node<'_>) -> Result<String, fmt::Error> {
    let mut text = String::new();
    node.write(&mut text)?;
    Ok(text)
}
