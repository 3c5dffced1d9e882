//! What `#[arg(..)]` says about a parameter beyond its type: limits, values, examples.

use std::fmt::Display;
use std::marker::PhantomData;
use std::ops::{Bound, RangeBounds};

use serde::Serialize;
use serde_json::{Map, Value};

use crate::parameter::Shown;
use crate::schema::marks;

/// Keywords for the schema of a parameter of type `T`, filled at registration.
#[derive(Debug)]
pub struct Facets<T> {
    pub(crate) keywords: Map<String, Value>,
    of: PhantomData<fn() -> T>,
}

impl<T> Default for Facets<T> {
    fn default() -> Self {
        Self {
            keywords: Map::new(),
            of: PhantomData,
        }
    }
}

impl<T> Facets<T> {
    /// `range = a..=b`: `minimum` and `maximum`.
    #[must_use]
    pub fn range(mut self, range: impl RangeBounds<T::Bound>) -> Self
    where
        T: Ranged,
    {
        self.bound("minimum", "exclusiveMinimum", range.start_bound());
        self.bound("maximum", "exclusiveMaximum", range.end_bound());
        self
    }

    /// `length = a..=b`: of a text in characters, of a list in items, of a map in entries.
    #[must_use]
    pub fn length(mut self, range: impl RangeBounds<u64>) -> Self
    where
        T: Measured,
    {
        let least = match range.start_bound() {
            Bound::Included(&least) => Some(least),
            Bound::Excluded(&below) => Some(below.saturating_add(1)),
            Bound::Unbounded => None,
        };
        let most = match range.end_bound() {
            Bound::Included(&most) => Some(most),
            Bound::Excluded(&above) => Some(above.saturating_sub(1)),
            Bound::Unbounded => None,
        };
        let limits = [(T::LEAST, least), (T::MOST, most)];
        for (keyword, limit) in limits {
            if let Some(limit) = limit {
                self.set(keyword, limit);
            }
        }
        self
    }

    /// `pattern = ".."`: a regular expression that the text matches somewhere, as in JSON Schema.
    #[must_use]
    pub fn pattern(mut self, pattern: impl Display) -> Self
    where
        T: Textual,
    {
        self.set("pattern", pattern.to_string());
        self
    }

    /// `values = [..]`: the only values allowed.
    #[must_use]
    pub fn values<const N: usize>(mut self, values: [T; N]) -> Self
    where
        T: Shown,
    {
        let values = values
            .iter()
            .filter_map(|value| serde_json::to_value(value).ok())
            .collect();
        self.set("enum", Value::Array(values));
        self
    }

    /// `not_blank`: not only white space.
    #[must_use]
    pub fn not_blank(mut self) -> Self
    where
        T: Textual,
    {
        self.set(marks::NOT_BLANK, true);
        self
    }

    /// `example = ..`: shown to the model.
    #[must_use]
    pub fn example(mut self, example: T) -> Self
    where
        T: Shown,
    {
        if let Ok(example) = serde_json::to_value(example) {
            self.set("examples", Value::Array(vec![example]));
        }
        self
    }

    /// `strict`: types must match, here and everywhere below.
    #[must_use]
    pub fn strict(mut self) -> Self {
        self.set(marks::STRICT, true);
        self
    }

    /// `case_sensitive`: an enum value in another case is refused.
    #[must_use]
    pub fn case_sensitive(mut self) -> Self {
        self.set(marks::CASE_SENSITIVE, true);
        self
    }

    fn bound<B: Serialize>(&mut self, inclusive: &str, exclusive: &str, bound: Bound<&B>) {
        let (keyword, limit) = match bound {
            Bound::Included(limit) => (inclusive, limit),
            Bound::Excluded(limit) => (exclusive, limit),
            Bound::Unbounded => return,
        };
        if let Ok(limit) = serde_json::to_value(limit) {
            self.set(keyword, limit);
        }
    }

    fn set(&mut self, keyword: &str, value: impl Into<Value>) {
        self.keywords.insert(keyword.to_owned(), value.into());
    }
}

/// Types that a `range` limits: numbers, and options of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no range",
    label = "`range` limits numbers",
    note = "for the length of a text, a list or a map write `length = a..=b`"
)]
pub trait Ranged {
    /// The type of the limits.
    type Bound: Serialize;
}

macro_rules! ranged {
    ($($number:ty)*) => {
        $(impl Ranged for $number {
            type Bound = $number;
        })*
    };
}

ranged!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);

impl<T: Ranged> Ranged for Option<T> {
    type Bound = T::Bound;
}

/// Types that a `length` limits: texts, lists, maps, and options of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no length",
    label = "`length` limits texts, lists and maps",
    note = "for a number write `range = a..=b`"
)]
pub trait Measured {
    /// The keyword of the least length.
    const LEAST: &'static str;
    /// The keyword of the greatest length.
    const MOST: &'static str;
}

macro_rules! measured {
    ($least:literal $most:literal $([$($generics:tt)*] $type:ty,)*) => {
        $(impl<$($generics)*> Measured for $type {
            const LEAST: &'static str = $least;
            const MOST: &'static str = $most;
        })*
    };
}

measured!("minLength" "maxLength" [] String, [] Box<str>, [] std::borrow::Cow<'static, str>,);
measured!("minItems" "maxItems"
    [T] Vec<T>, [T] Box<[T]>, [T] std::collections::VecDeque<T>, [T] std::collections::BTreeSet<T>,
    [T, S] std::collections::HashSet<T, S>,
);
measured!("minProperties" "maxProperties"
    [K, V] std::collections::BTreeMap<K, V>, [K, V, S] std::collections::HashMap<K, V, S>,
);

impl<T: Measured> Measured for Option<T> {
    const LEAST: &'static str = T::LEAST;
    const MOST: &'static str = T::MOST;
}

/// Types that are texts, and options of them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no text",
    label = "`pattern` and `not_blank` are for texts"
)]
pub trait Textual {}

impl Textual for String {}
impl Textual for Box<str> {}
impl Textual for std::borrow::Cow<'static, str> {}
impl<T: Textual> Textual for Option<T> {}
