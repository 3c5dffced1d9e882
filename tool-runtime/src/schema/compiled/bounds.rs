//! Exact limits of numbers: the text of each limit, and its value if it is an integer.

use super::decimal::Decimal;

/// Limits of a number.
#[derive(Debug, Clone, Default)]
pub(crate) struct NumberLimits {
    pub(crate) min: Option<Bound>,
    pub(crate) max: Option<Bound>,
    pub(crate) exclusive_min: Option<Bound>,
    pub(crate) exclusive_max: Option<Bound>,
    pub(crate) multiple_of: Option<Bound>,
    /// Range of the Rust type ([`marks::INTEGER`](crate::schema::keywords::marks::INTEGER)). Without it, an integer has 64 bits, signed or
    /// unsigned.
    pub(crate) width: Option<Width>,
}

impl NumberLimits {
    /// Returns whether there are no limits except for the range of the type.
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
    /// Returns whether an integer is within the bounds; `None` if a bound is not an integer of 128 bits.
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

/// A limit in a schema, with its text.
#[derive(Debug, Clone)]
pub(crate) struct Bound {
    pub(crate) text: Box<str>,
    /// Value of the limit if it is an integer of at most 128 bits, like most limits.
    pub(crate) integer: Option<i128>,
}

impl Bound {
    /// Creates a limit from its text.
    pub(crate) fn new(text: &str) -> Self {
        Self {
            text: text.into(),
            integer: text.parse().ok(),
        }
    }

    /// Returns the exact value of the limit.
    pub(crate) fn value(&self) -> Decimal<'_> {
        Decimal::parse(&self.text).unwrap_or(Decimal::ZERO)
    }
}

/// Range of an integer type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Width {
    pub(crate) min_text: &'static str,
    pub(crate) max_text: &'static str,
    /// Limits as numbers, clamped to `i128`: compared values are `i128`, too.
    pub(crate) range: (i128, i128),
}

impl Width {
    /// Returns whether the value is in the range.
    pub(crate) fn contains(self, value: i128) -> bool {
        (self.range.0..=self.range.1).contains(&value)
    }
}
