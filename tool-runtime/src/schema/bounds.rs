//! Limits of numbers, exact: as they are written, and as integers where they are some.

use super::decimal::Decimal;

/// Limits of a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberLimits {
    pub(crate) min: Option<Bound>,
    pub(crate) max: Option<Bound>,
    pub(crate) exclusive_min: Option<Bound>,
    pub(crate) exclusive_max: Option<Bound>,
    pub(crate) multiple_of: Option<Bound>,
    /// What the Rust type can hold (`x-integer`). Without it an integer has 64 bits, of either sign.
    pub(crate) width: Option<Width>,
}

impl NumberLimits {
    /// Whether it says nothing of values, but at most what the type can hold.
    pub(crate) fn has_no_bounds(&self) -> bool {
        let bounds = [
            &self.min,
            &self.max,
            &self.exclusive_min,
            &self.exclusive_max,
            &self.multiple_of,
        ];
        bounds.into_iter().all(Option::is_none)
    }
}

impl NumberLimits {
    /// Whether an integer is within the bounds; `None` when one of them is no such integer itself.
    pub(crate) fn check_integer(&self, value: i128) -> Option<bool> {
        let satisfies = |bound: &Option<Bound>, satisfies: fn(i128, i128) -> bool| match bound {
            Some(bound) => Some(satisfies(value, bound.integer?)),
            None => Some(true),
        };
        Some(
            satisfies(&self.min, |value, min| value >= min)?
                && satisfies(&self.max, |value, max| value <= max)?
                && satisfies(&self.exclusive_min, |value, exclusive_min| value > exclusive_min)?
                && satisfies(&self.exclusive_max, |value, exclusive_max| value < exclusive_max)?
                && satisfies(&self.multiple_of, |value, step| step != 0 && value % step == 0)?,
        )
    }
}

/// A number of a schema, with its text.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) text: Box<str>,
    /// Its value, when it is an integer of at most 128 bits: most limits are, and most values they limit.
    pub(crate) integer: Option<i128>,
}

impl Bound {
    /// A number by its text.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            integer: text.parse().ok(),
        }
    }

    /// Its exact value.
    pub(crate) fn value(&self) -> Decimal<'_> {
        Decimal::parse(&self.text).unwrap_or(Decimal::ZERO)
    }
}

/// The integers that a type can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) min_text: &'static str,
    pub(crate) max_text: &'static str,
    /// The same two as numbers; what a limit has beyond `i128`, no value that is held against it has.
    pub(crate) range: (i128, i128),
}

impl Width {
    /// Whether the type can hold the value.
    pub(crate) fn contains(self, value: i128) -> bool {
        (self.range.0..=self.range.1).contains(&value)
    }
}
