//! Keywords of our own in a schema: rules that JSON Schema has no word for. They are enforced and never sent.
//!
//! A field of a struct takes them by schemars: `#[schemars(extend("x-not-blank" = true))]`.

/// A string that is more than white space. The description tells the model so.
pub const NOT_BLANK: &str = "x-not-blank";

/// [`Policy::Strict`](crate::Policy::Strict) for this value and everything in it.
pub const STRICT: &str = "x-strict";

/// Enum values are not matched in another case.
pub const CASE_SENSITIVE: &str = "x-case-sensitive";
