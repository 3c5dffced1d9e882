//! Quick checks of scalars. `true` is final; `false` means that the tree has to decide.

use crate::arguments::limits;
use crate::schema::compiled::bounds::{Bound, NumberLimits};
use crate::schema::compiled::types::Types;
use crate::schema::compiled::{Kind, List, Plain, Schema, TextLimits};

/// Returns whether a string conforms.
#[inline]
pub(super) fn text(schema: &Schema, text: &str) -> bool {
    schema.types.has(Types::STRING)
        && plain(schema).is_some_and(|plain| match plain {
            Plain {
                values: Some(values),
                text: limits,
                ..
            } => values.has_text(text) && limits.as_ref().is_none_or(|limits| meets(limits, text)),
            Plain {
                text: Some(limits), ..
            } => meets(limits, text),
            _ => true,
        })
}

/// Returns whether an integer conforms.
#[inline]
pub(super) fn integer(schema: &Schema, value: i128) -> bool {
    schema.types.has(Types::INTEGER)
        && plain(schema).is_some_and(|plain| match plain {
            Plain { values: Some(_), .. } => false,
            Plain {
                number: Some(limits), ..
            } => holds(limits, value),
            _ => has_64_bits(value),
        })
}

/// Returns whether a number with a fraction or an exponent conforms.
pub(super) fn float(schema: &Schema, value: impl FnOnce() -> f64) -> bool {
    schema.types.has(Types::NUMBER)
        && plain(schema).is_some_and(|plain| match plain {
            Plain { values: Some(_), .. } => false,
            Plain {
                number: Some(limits), ..
            } => is_clearly_within(limits, value()),
            _ => true,
        })
}

/// Returns whether `true` and `false` conform.
pub(super) fn boolean(schema: &Schema) -> bool {
    schema.types.has(Types::BOOLEAN) && has_no_values(schema)
}

/// Returns whether `null` conforms.
pub(super) fn null(schema: &Schema) -> bool {
    schema.types.has(Types::NULL) && has_no_values(schema)
}

fn has_no_values(schema: &Schema) -> bool {
    plain(schema).is_some_and(|plain| plain.values.is_none())
}

/// Returns the limits of a list; `None` if checking it takes more than a look at each item.
pub(super) fn list(schema: &Schema) -> Option<&List> {
    let plain = plain(schema).filter(|_| schema.types.has(Types::ARRAY))?;
    let list = plain.list.as_ref().unwrap_or(List::unlimited());
    (plain.values.is_none() && !list.unique).then_some(list)
}

/// Returns whether the number of items conforms.
pub(super) fn count(list: &List, count: usize) -> bool {
    let count = count as u64;
    list.min.is_none_or(|min| min <= count) && list.max.is_none_or(|max| count <= max)
}

/// Returns the limits of a schema; `None` if checking a value takes more than these.
pub(super) fn plain(schema: &Schema) -> Option<&Plain> {
    match &schema.kind {
        Kind::Plain(plain) => Some(plain),
        Kind::Any => Some(&Plain::NONE),
        Kind::Union(_) | Kind::AllOf(_) => None,
    }
}

fn meets(limits: &TextLimits, text: &str) -> bool {
    limits::text_violation(limits, text).is_none()
}

fn holds(limits: &NumberLimits, value: i128) -> bool {
    let fits = match limits.width {
        Some(width) => width.contains(value),
        None => has_64_bits(value),
    };
    fits && limits.check_integer(value) == Some(true)
}

/// Returns whether an integer without keywords is within 64 bits.
fn has_64_bits(value: i128) -> bool {
    i64::try_from(value).is_ok() || u64::try_from(value).is_ok()
}

/// Returns whether a float is within the limits and not close to one. Limits are compared exactly, by text, and
/// rounding may move a float to the other side of a close limit.
fn is_clearly_within(limits: &NumberLimits, value: f64) -> bool {
    let NumberLimits {
        min,
        max,
        exclusive_min,
        exclusive_max,
        multiple_of,
        width,
    } = limits;
    let margin = value.abs() * (4.0 * f64::EPSILON) + f64::MIN_POSITIVE;
    let limit = |bound: &Bound| bound.text.parse::<f64>().unwrap_or(f64::NAN);
    let over = |bound: &Option<Bound>| bound.as_ref().is_none_or(|bound| value - margin > limit(bound));
    let under = |bound: &Option<Bound>| bound.as_ref().is_none_or(|bound| value + margin < limit(bound));
    multiple_of.is_none()
        && width.is_none()
        && over(min)
        && over(exclusive_min)
        && under(max)
        && under(exclusive_max)
}
