//! Messages of issues, for the model: the fault, and the expected value.

use std::fmt::{Display, Write as _};

use super::expected::{Listed, MAX_LISTED, Range, or_null, several};
use super::path::Path;
use super::schema_hint::{SchemaHint, quoted};
use crate::arguments::input::tree::node::Node;
use crate::arguments::rules::SIXTY_FOUR_BITS;
use crate::schema::compiled::bounds::{Bound, NumberLimits};
use crate::schema::compiled::{Schema, Values};
use crate::wire::depth;
use crate::wire::issue::{Code, Issue, excerpt};

/// Warns about a changed value.
pub(crate) fn changed(code: Code, sent: &Node<'_>, taken: &Node<'_>) -> Issue {
    Issue::warning(code, "", format!("{} was read as {}", shown(sent), shown(taken)))
}

/// Warns about a value that was read as a missing key.
pub(crate) fn missing_value(code: Code, sent: &Node<'_>) -> Issue {
    let message = format!(
        "{} was read as a missing key; leave the key out instead",
        shown(sent)
    );
    Issue::warning(code, "", message)
}

/// Rejects a value of the wrong type.
pub(crate) fn invalid_type(code: Code, sent: &Node<'_>, wanted: impl Display) -> Issue {
    refused(
        code,
        sent,
        format!("invalid value {}; expected {wanted}", shown(sent)),
    )
}

/// Rejects a list or an object for a string.
pub(crate) fn not_a_string(sent: &Node<'_>, wanted: impl Display, holds_json: bool) -> Issue {
    let form = if holds_json { "it as JSON text" } else { "a string" };
    let message = format!(
        "invalid value {}; expected {wanted}, got {}; send {form} in quotes",
        shown(sent),
        sent.types()
    );
    refused(Code::UnsupportedStringLiteral, sent, message)
}

/// Rejects a text for an object: the text is only a key or the tag of that object.
pub(crate) fn incomplete(sent: &Node<'_>, hint: SchemaHint<'_>) -> Issue {
    let message = format!("incomplete value {}; expected {hint}", shown(sent));
    refused(Code::NoAlternativeFits, sent, message)
}

/// Rejects a value that is not one of the allowed values.
pub(crate) fn not_among(values: &Values, sent: &Node<'_>) -> Issue {
    let message = format!("invalid value {}; expected {}", shown(sent), Listed(values));
    refused(Code::EnumOutOfRange, sent, message).about(&subject(sent))
}

/// Rejects a value that violates a limit.
pub(crate) fn violates(sent: &Node<'_>, limit: impl Display) -> Issue {
    refused(
        Code::ConstraintViolated,
        sent,
        format!("invalid value {}; expected {limit}", shown(sent)),
    )
}

/// Rejects a number that no float can represent.
pub(crate) fn not_finite(sent: &Node<'_>) -> Issue {
    invalid_type(
        Code::UnsupportedNumberLiteral,
        sent,
        "a number that fits into 64 bits",
    )
}

/// Rejects an integer outside the range of the type.
pub(crate) fn out_of_range(sent: &Node<'_>, limits: Option<&NumberLimits>, schema: &Schema) -> Issue {
    let mut limits = limits.cloned().unwrap_or_default();
    let width = limits.width.unwrap_or(SIXTY_FOUR_BITS);
    // The limits of the schema are narrower than the range of the type.
    if limits.min.is_none() && limits.exclusive_min.is_none() {
        limits.min = Some(Bound::new(width.min_text));
    }
    if limits.max.is_none() && limits.exclusive_max.is_none() {
        limits.max = Some(Bound::new(width.max_text));
    }
    let wanted = or_null(schema, format!("an integer{}", Range(&limits)));
    let message = format!("invalid value {}; expected {wanted}", shown(sent));
    refused(Code::IntegerOutOfRange, sent, message)
}

/// Rejects a value of too many nested unions.
pub(crate) fn too_many_unions() -> Issue {
    let message = "too many nested unions; expected a flatter value";
    Issue::error(Code::TooDeep, "", message)
}

/// Rejects a value that nests too deeply, as sent or as coerced.
pub(crate) fn too_deep() -> Issue {
    let message = format!(
        "nested deeper than {} levels; expected a flatter value",
        depth::MAX_DEPTH
    );
    Issue::error(Code::TooDeep, "", message)
}

/// Rejects a value whose alternatives take too long to try.
pub(crate) fn too_complex() -> Issue {
    let message = "too many possible readings of the value; expected fewer items, each of exactly the types of the schema";
    Issue::error(Code::TooComplex, "", message)
}

/// Rejects a value in a trial: a keyword that coercion does not enforce does not hold.
pub(crate) fn unlike_assertions() -> Issue {
    Issue::error(
        Code::ConstraintViolated,
        "",
        "invalid value; expected a value that the schema allows",
    )
}

/// Rejects a value whose coerced form would not be accepted unchanged.
pub(crate) fn conflicting_parts(sent: &Node<'_>) -> Issue {
    let message = format!(
        "ambiguous value {}: coercion has more than one possible result; expected a value that is valid without coercion",
        shown(sent)
    );
    refused(Code::AmbiguousValue, sent, message)
}

/// Rejects a value that the schema allows and its type does not. The message quotes the error of the type, and the
/// `format` if there is one.
pub(crate) fn invalid_value(sent: &Node<'_>, error: &str, wanted: Option<&str>) -> Issue {
    let message = match wanted {
        Some(wanted) => format!("invalid value {}: {error}; expected {wanted}", shown(sent)),
        None => format!("invalid value {}: {error}", shown(sent)),
    };
    refused(Code::InvalidValue, sent, message)
}

pub(crate) fn null(wanted: impl Display) -> Issue {
    refused(
        Code::NullNotAllowed,
        &Node::Null,
        format!("invalid value null; expected {wanted}"),
    )
}

/// Rejects arguments or an object without a required property.
pub(crate) fn missing(at: &Path<'_>, name: &str, wanted: impl Display) -> Issue {
    let noun = if at.depth() == 1 { "parameter" } else { "property" };
    let message = format!("missing required {noun}; expected {wanted}");
    Issue::error(Code::MissingRequired, "", message).about(name)
}

/// Warns about an unknown key.
pub(crate) fn unknown<'n>(
    code: Code,
    name: &str,
    mut known: impl Iterator<Item = &'n str>,
    denied: bool,
) -> Issue {
    let mut message = String::from(match code {
        Code::UnknownParameter => "unknown parameter",
        _ => "unknown property",
    });
    for (place, name) in known.by_ref().take(MAX_LISTED).enumerate() {
        message.push_str(if place == 0 { "; expected one of " } else { ", " });
        let _ = write!(message, "`{}`", excerpt(name));
    }
    if known.next().is_some() {
        message.push_str(" and more");
    }
    let issue = if denied {
        Issue::error(code, "", message)
    } else {
        Issue::warning(code, "", message)
    };
    issue.about(name)
}

pub(crate) fn renamed(sent: &str, name: &str) -> Issue {
    Issue::warning(
        Code::ParameterNameNormalized,
        "",
        format!(
            "`{}` was read as `{}`, the declared spelling",
            excerpt(sent),
            excerpt(name)
        ),
    )
}

/// Rejects a key that the map does not allow.
pub(crate) fn invalid_key(sent: &str, wanted: impl Display) -> Issue {
    let message = format!("invalid map key `{}`; expected {wanted}", excerpt(sent));
    Issue::error(Code::InvalidMapKey, "", message).about(sent)
}

/// Rejects a map key that the schema allows and the key type does not.
pub(crate) fn invalid_key_of_type(sent: &str, error: &str) -> Issue {
    let break_before = if error.starts_with("expected ") { ';' } else { ':' };
    let message = format!("invalid map key `{}`{break_before} {error}", excerpt(sent));
    Issue::error(Code::InvalidMapKey, "", message).about(sent)
}

/// Rejects one of two keys that are read as the same key.
pub(crate) fn same_key(sent: &str, name: &str) -> Issue {
    let message = format!(
        "duplicate map key: `{}` and another key are both read as `{}`; expected each key once",
        excerpt(sent),
        excerpt(name)
    );
    Issue::error(Code::InvalidMapKey, "", message).about(sent)
}

/// Warns about a map key in another spelling.
pub(crate) fn coerced_key(sent: &str, name: &str) -> Issue {
    let message = format!("the key `{}` was read as `{}`", excerpt(sent), excerpt(name));
    Issue::warning(Code::MapKeyCoerced, "", message)
}

/// Lists the first of the allowed keys.
pub(crate) fn one_of_keys<'n>(keys: impl ExactSizeIterator<Item = &'n str>) -> String {
    let mut words = String::from(if keys.len() > 1 { "one of " } else { "" });
    let _ = several(&mut words, keys.len(), keys.map(quoted));
    words
}

pub(crate) fn repeated(name: &str) -> Issue {
    Issue::warning(Code::DuplicateKey, "", "duplicate key; the last value was used").about(name)
}

/// Builds an error about a value.
pub(crate) fn refused(
    code: Code,
    sent: &Node<'_>,
    message: impl Into<std::borrow::Cow<'static, str>>,
) -> Issue {
    Issue::error(code, "", message).sent_as(&subject(sent))
}

/// Formats a value as the subject of a code: a string as its text, any other value as JSON.
fn subject(sent: &Node<'_>) -> String {
    match sent {
        Node::Text(text) => excerpt(text).into_owned(),
        other => other.preview(),
    }
}

/// Formats a value for a message: its JSON, truncated.
pub(crate) fn shown(node: &Node<'_>) -> String {
    excerpt(&node.preview()).into_owned()
}
