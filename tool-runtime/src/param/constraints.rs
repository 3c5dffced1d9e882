//! The methods of [`Param`] that the macro's output calls: name, description, and the keys of `#[arg(..)]`.

use std::convert::Infallible;
use std::ops::{Bound, RangeBounds};

use serde::Serialize;

use crate::param::declared::{DefaultValue, Param};
use crate::param::into_param::IntoParam;
use crate::param::parameter::Parameter;
use crate::param::patch::Patch;
use crate::param::source::{FromHost, Inner, Never, ParamSource, Unwrapped};
use crate::schema::keywords::marks;

impl<T> Param<T> {
    /// Creates a parameter with its description.
    ///
    /// For an invalid parameter type, the result has no type either, so that the compiler reports a single error.
    #[allow(clippy::new_ret_no_self, reason = "it is `Self` for every valid type")]
    pub fn new<By>(name: &'static str, description: &'static str) -> Declared<T::Param>
    where
        T: ParamSource<By>,
        T::Param: Inner + Unwrapped<<T::Param as Inner>::Type>,
    {
        T::param(Param::unchecked(name, description)).unwrapped()
    }

    /// Creates a parameter without a description; [`from_host`](Self::from_host) must follow.
    pub fn named(name: &'static str) -> Self {
        Self::unchecked(name, "")
    }

    /// Requires a type that the host supplies, which needs no description.
    pub fn from_host<P>(self) -> Declared<P>
    where
        T: FromHost<P>,
        P: Inner + Unwrapped<P::Type>,
    {
        T::param(self).unwrapped()
    }
}

/// The [`Param`] of a type that has passed all bounds.
type Declared<P> = <P as Unwrapped<<P as Inner>::Type>>::Param;

impl<T: Parameter> Param<T> {
    /// Sets the value of a missing argument: `default = ..`. The value is created for each call, and validated
    /// once, at registration.
    #[must_use]
    pub fn default<By>(self, make: fn() -> T::Value) -> Self
    where
        T: ToJson<By>,
    {
        T::with_default(self, make)
    }

    /// Sets the limits of a number: `range = a..=b`, or another range with at least one bound.
    #[must_use]
    pub fn range(self, range: impl Limits<T::Bound>) -> Self
    where
        T: Numeric,
    {
        let max = range.end_bound();
        let keyword = match max {
            Bound::Excluded(_) => "exclusiveMaximum",
            _ => "maximum",
        };
        self.with_limit("minimum", range.start_bound())
            .with_limit(keyword, max)
    }

    /// Sets the limits of a length: `length = a..=b`. The length is the number of characters of a string, items of a list or
    /// entries of a map.
    #[must_use]
    pub fn length(self, length: impl Limits<T::Length>) -> Self
    where
        T: HasLength,
    {
        let max = match length.end_bound().cloned().map(Into::into) {
            Bound::Excluded(max) => Bound::Included(max.saturating_sub(1)),
            max => max,
        };
        self.with_limit(T::MIN_KEYWORD, length.start_bound())
            .with_limit(T::MAX_KEYWORD, max)
    }

    fn with_limit(self, keyword: &str, limit: Bound<impl Serialize>) -> Self {
        match limit {
            Bound::Included(limit) | Bound::Excluded(limit) => self.with(keyword, limit),
            Bound::Unbounded => self,
        }
    }

    /// Sets a regular expression that matches anywhere in the string, as in JSON Schema: `pattern = ".."`.
    #[must_use]
    pub fn pattern(self, pattern: T::Pattern) -> Self
    where
        T: StringType,
    {
        self.with("pattern", pattern)
    }

    /// Sets the allowed values: `values = [..]`.
    #[must_use]
    pub fn values<By, const N: usize>(self, values: [impl IntoParam<T::Value>; N]) -> Self
    where
        T: ToJson<By>,
    {
        self.with("enum", Vec::from(values.map(IntoParam::into_param)))
    }

    /// Rejects strings of white space only: `not_blank`.
    #[must_use]
    pub fn not_blank(self) -> Self
    where
        T: StringType,
    {
        self.with(marks::NOT_BLANK, true)
    }

    /// Sets an example for the model: `example = ..`.
    #[must_use]
    pub fn example<By>(self, example: T::Value) -> Self
    where
        T: ToJson<By>,
    {
        self.with("examples", [example])
    }

    /// Disables coercion of the value and its contents: `strict`.
    #[must_use]
    pub fn strict(self) -> Self {
        self.with(marks::STRICT, true)
    }

    /// Rejects other spellings of enum values, enum keys of maps and tags, at any depth: `case_sensitive`.
    #[must_use]
    pub fn case_sensitive(self) -> Self {
        self.with(marks::CASE_SENSITIVE, true)
    }

    fn with(mut self, keyword: &str, value: impl Serialize) -> Self {
        self.set(keyword, value);
        self
    }
}

/// Types with values that can be shown to the model: in `default`, `values` and `example`.
///
/// There are two implementations, as in `source.rs`, so that an unsuitable type causes a single error.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not support `default`, `values` or `example`",
    label = "not `Serialize`, so the value cannot be written into the schema",
    note = "a type of your own needs `tool_runtime::serde::Serialize` in its `#[derive(..)]`, in addition to `Deserialize`",
    note = "`default`, `values` and `example` are unsupported for a value that the host supplies, and for a `Patch`, where a missing value is `Keep`"
)]
pub trait ToJson<By>: Parameter {
    /// Type of the value, always `Self`.
    type Value: Serialize;

    /// Sets the default.
    #[must_use]
    fn with_default(param: Param<Self>, make: fn() -> Self::Value) -> Param<Self>;
}

/// Marks the implementation for [`Serialize`] types.
#[derive(Debug)]
pub struct AsJson;

#[diagnostic::do_not_recommend]
impl<T: Parameter + Serialize> ToJson<AsJson> for T {
    type Value = T;

    fn with_default(mut param: Param<T>, make: fn() -> T) -> Param<T> {
        param.default = Some(DefaultValue {
            make,
            show: |value| serde_json::to_value(value),
        });
        param
    }
}

#[diagnostic::do_not_recommend]
impl<T: Parameter + Never> ToJson<Infallible> for T {
    type Value = ();

    fn with_default(param: Param<T>, _: fn()) -> Param<T> {
        param
    }
}

/// Limits of a `range` or a `length`: a Rust range with bounds of type `B`.
#[diagnostic::on_unimplemented(
    message = "mismatched type of the limits: expected `{B}`",
    label = "expected a range of `{B}`",
    note = "write `1.0..=5.0` for a float, `1..=5` for an integer"
)]
pub trait Limits<B>: RangeBounds<B> {}

#[diagnostic::do_not_recommend]
impl<B, R: RangeBounds<B>> Limits<B> for R {}

/// Types with a `range`: numbers, and options and patches of numbers.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a numeric type",
    label = "`range` needs a number",
    note = "for the length of a string, a list or a map write `length = a..=b`"
)]
pub trait Numeric {
    /// Type of the limits.
    type Bound: Serialize;
}

macro_rules! numeric {
    ($($number:ty)*) => {
        $(impl Numeric for $number {
            type Bound = $number;
        })*
    };
}

numeric!(i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64);

impl<T: Numeric> Numeric for Option<T> {
    type Bound = T::Bound;
}

impl<T: Numeric> Numeric for Patch<T> {
    type Bound = T::Bound;
}

/// Types with a `length`: strings, lists, maps, and options and patches of these.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no length",
    label = "`length` needs a string, a list or a map",
    note = "for a number write `range = a..=b`"
)]
pub trait HasLength {
    /// Type of the length, always `u64`. With a plain `u64`, errors about the type would not point to the key.
    type Length: Serialize + Clone + Into<u64>;
    /// Keyword of the minimum length.
    const MIN_KEYWORD: &'static str;
    /// Keyword of the maximum length.
    const MAX_KEYWORD: &'static str;
}

macro_rules! has_length {
    ($min:literal $max:literal $([$($generics:tt)*] $type:ty,)*) => {
        $(impl<$($generics)*> HasLength for $type {
            type Length = u64;

            const MIN_KEYWORD: &'static str = $min;
            const MAX_KEYWORD: &'static str = $max;
        })*
    };
}

has_length!("minLength" "maxLength" [] String, [] Box<str>, [] std::borrow::Cow<'static, str>,);
has_length!("minItems" "maxItems"
    [T] Vec<T>, [T] Box<[T]>, [T] std::collections::VecDeque<T>, [T] std::collections::BTreeSet<T>,
    [T, S] std::collections::HashSet<T, S>,
);
has_length!("minProperties" "maxProperties"
    [K, V] std::collections::BTreeMap<K, V>, [K, V, S] std::collections::HashMap<K, V, S>,
);

impl<T: HasLength> HasLength for Option<T> {
    type Length = T::Length;

    const MIN_KEYWORD: &'static str = T::MIN_KEYWORD;
    const MAX_KEYWORD: &'static str = T::MAX_KEYWORD;
}

impl<T: HasLength> HasLength for Patch<T> {
    type Length = T::Length;

    const MIN_KEYWORD: &'static str = T::MIN_KEYWORD;
    const MAX_KEYWORD: &'static str = T::MAX_KEYWORD;
}

/// Types with a `pattern`: strings, and options and patches of strings.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a string type",
    label = "`pattern` and `not_blank` need a string type"
)]
pub trait StringType {
    /// Type of the pattern, always `&str`; see [`HasLength::Length`].
    type Pattern: Serialize;
}

impl StringType for String {
    type Pattern = &'static str;
}

impl StringType for Box<str> {
    type Pattern = &'static str;
}

impl StringType for std::borrow::Cow<'static, str> {
    type Pattern = &'static str;
}

impl<T: StringType> StringType for Option<T> {
    type Pattern = T::Pattern;
}

impl<T: StringType> StringType for Patch<T> {
    type Pattern = T::Pattern;
}
