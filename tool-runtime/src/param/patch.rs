//! [`Patch`]: a parameter that distinguishes a missing value, `null` and a value.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

use crate::schema::keywords::marks;

/// Change of an optional value: a missing argument keeps the value, `null` clears it, a value
/// replaces it.
///
/// An `Option` does not distinguish `null` from a missing argument. The schema of a `Patch<T>` is the schema of `T`
/// with `null`, and the parameter is not required.
///
/// ```
/// use tool_runtime::{Patch, testing, tool};
///
/// /// Change a task.
/// #[tool]
/// async fn change_task(
///     /// Its title.
///     #[arg(length = 1..=80)]
///     title: Patch<String>,
///     /// Due date; `null` removes it.
///     due: Patch<String>,
/// ) -> String {
///     let due = match due {
///         Patch::Keep => "stays".to_owned(),
///         Patch::Clear => "is removed".to_owned(),
///         Patch::Set(day) => format!("is {day}"),
///     };
///     format!("the title {}, the date {due}", if title.is_keep() { "stays" } else { "changes" })
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// testing::run::<change_task>("{}").await.assert_text("the title stays, the date stays");
/// testing::run::<change_task>(r#"{ "due": null }"#).await.assert_text("the title stays, the date is removed");
/// testing::run::<change_task>(r#"{ "due": "Friday" }"#).await.assert_text("the title stays, the date is Friday");
/// # }
/// ```
///
/// A field of a struct needs `#[serde(default)]`, which makes a missing field [`Keep`](Self::Keep). Without the attribute the field would
/// be required and never `Keep`, and the registration fails. It also fails for an `Option<Patch<T>>`, which would never be
/// [`Clear`](Self::Clear).
///
/// ```
/// use tool_runtime::{Patch, schemars, serde};
///
/// /// Changes of a task.
/// #[derive(serde::Deserialize, schemars::JsonSchema)]
/// #[serde(crate = "tool_runtime::serde")]
/// #[schemars(crate = "tool_runtime::schemars")]
/// struct Changes {
///     /// Assignee of the task; `null` removes the assignee.
///     #[serde(default)]
///     assignee: Patch<String>,
/// }
///
/// let changes: Changes = tool_runtime::serde_json::from_str("{}").unwrap();
/// assert_eq!(changes.assignee, Patch::Keep);
/// ```
///
/// `Patch` is not `Serialize`, since `Keep` is not a JSON value. A patch therefore has no `default` and no `example` in
/// `#[arg(..)]`. The limits of `T` (`range`, `length`, `pattern`, `not_blank`) apply to the value in [`Set`](Self::Set).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Patch<T> {
    /// Missing value: the current value is kept.
    #[default]
    Keep,
    /// `null`: the current value is removed.
    Clear,
    /// New value.
    Set(T),
}

impl<T> Patch<T> {
    /// Returns whether the value is kept.
    pub const fn is_keep(&self) -> bool {
        matches!(self, Self::Keep)
    }

    /// Applies the change to a value.
    ///
    /// ```
    /// use tool_runtime::Patch;
    ///
    /// let mut due = Some("Friday");
    /// Patch::Keep.apply(&mut due);
    /// assert_eq!(due, Some("Friday"));
    /// Patch::Set("Monday").apply(&mut due);
    /// assert_eq!(due, Some("Monday"));
    /// Patch::Clear.apply(&mut due);
    /// assert_eq!(due, None);
    /// ```
    pub fn apply(self, value: &mut Option<T>) {
        match self {
            Self::Keep => {}
            Self::Clear => *value = None,
            Self::Set(new) => *value = Some(new),
        }
    }

    /// Converts into a nested `Option`, which other libraries use: `None` keeps the value, `Some(None)` clears it.
    ///
    /// ```
    /// use tool_runtime::Patch;
    ///
    /// assert_eq!(Patch::<u8>::Keep.into_option(), None);
    /// assert_eq!(Patch::<u8>::Clear.into_option(), Some(None));
    /// assert_eq!(Patch::Set(1).into_option(), Some(Some(1)));
    /// ```
    #[allow(clippy::option_option, reason = "it is the form of other libraries")]
    pub fn into_option(self) -> Option<Option<T>> {
        match self {
            Self::Keep => None,
            Self::Clear => Some(None),
            Self::Set(value) => Some(Some(value)),
        }
    }
}

/// Name of the newtype that a [`Patch`] requests from a deserializer.
///
/// `Patch` does not call `deserialize_option`: serde treats a missing field like `null`, so a missing field would clear
/// the value.
pub(crate) const NEWTYPE: &str = marks::PATCH;

/// String that a deserializer passes to the visitor of a `Patch` if the argument is missing.
pub(crate) const MISSING: &str = "$tool_runtime::missing";

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Patch<T> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_newtype_struct(NEWTYPE, PatchVisitor(PhantomData))
    }
}

struct PatchVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for PatchVisitor<T> {
    type Value = Patch<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value or null")
    }

    #[inline]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Patch<T>, D::Error> {
        let value = Option::deserialize(deserializer)?;
        Ok(value.map_or(Patch::Clear, Patch::Set))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Patch<T>, D::Error> {
        T::deserialize(deserializer).map(Patch::Set)
    }

    fn visit_none<E: Error>(self) -> Result<Patch<T>, E> {
        Ok(Patch::Clear)
    }

    fn visit_unit<E: Error>(self) -> Result<Patch<T>, E> {
        Ok(Patch::Clear)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Patch<T>, E> {
        if text == MISSING {
            return Ok(Patch::Keep);
        }
        Err(E::invalid_type(serde::de::Unexpected::Str(text), &self))
    }
}

impl<T: JsonSchema> JsonSchema for Patch<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("Patch_of_{}", T::schema_name()).into()
    }

    fn schema_id() -> Cow<'static, str> {
        format!("Patch<{}>", T::schema_id()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Option::<T>::json_schema(generator);
        marks::insert(&mut schema, marks::PATCH, generator);
        schema
    }
}
