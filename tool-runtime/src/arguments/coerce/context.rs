//! Context that a value inherits from the enclosing schemas.

use crate::arguments::rules::Mode;
use crate::schema::compiled::{Schema, SchemaId};

/// Context of a coercion, beyond value and schema.
#[allow(clippy::struct_excessive_bools, reason = "each is independent of the others")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CoercionContext {
    pub(in crate::arguments) mode: Mode,
    /// Whether enum values, enum keys of maps and tags must have their exact spelling.
    pub(in crate::arguments) case_sensitive: bool,
    /// Whether a key that the schema denies is an error: the call is strict, not only a parameter.
    pub(in crate::arguments) denies: bool,
    /// Whether a single value may be wrapped into a list: it is the value of a property or of an entry.
    pub(in crate::arguments) wraps: bool,
    /// Conjunction whose parts share their keys, or union in which serde may use another alternative's keys.
    pub(in crate::arguments) within: Option<SchemaId>,
    pub(in crate::arguments) stability: Stability,
    /// Whether the value is a key of a map, with assertions (`not`, `if` …) that the validation checks later, with a
    /// message. When alternatives are matched, the assertions apply at once.
    pub(in crate::arguments) defers_assertions: bool,
}

/// The check that coercing the result of a conjunction again does not change it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stability {
    /// The conjunction checks its own result: another alternative that accepts the result would hide that this one
    /// does not.
    Own,
    /// The enclosing conjunction checks the result.
    OfWhole,
    /// There is no check: this is the second coercion, which checks the first.
    Unchecked,
}

impl CoercionContext {
    /// Returns the context of the root.
    pub(crate) fn all(mode: Mode) -> Self {
        Self {
            mode,
            case_sensitive: false,
            denies: mode == Mode::Strict,
            wraps: false,
            within: None,
            stability: Stability::Own,
            defers_assertions: false,
        }
    }

    /// Returns the context of an alternative of a union.
    pub(in crate::arguments) fn alternative(self) -> Self {
        let stability = match self.stability {
            Stability::Own | Stability::OfWhole => Stability::Own,
            Stability::Unchecked => Stability::Unchecked,
        };
        Self { stability, ..self }
    }

    /// Returns the context of a part of a conjunction.
    pub(in crate::arguments) fn part(self) -> Self {
        let stability = match self.stability {
            Stability::Own | Stability::OfWhole => Stability::OfWhole,
            Stability::Unchecked => Stability::Unchecked,
        };
        Self { stability, ..self }
    }

    /// Returns the context for coercing a coerced value again.
    pub(in crate::arguments) fn again(self) -> Self {
        Self {
            stability: Stability::Unchecked,
            ..self
        }
    }

    /// Returns the context of the value of a property or of a map's entry.
    pub(in crate::arguments) fn entry(self) -> Self {
        Self {
            wraps: true,
            within: None,
            ..self
        }
    }

    /// Returns the context of a key of a map.
    pub(in crate::arguments) fn key(self) -> Self {
        Self {
            defers_assertions: !matches!(self.mode, Mode::Schema | Mode::Exact),
            ..self
        }
    }

    /// Returns the context of an item of a list.
    pub(in crate::arguments) fn item(self) -> Self {
        Self {
            wraps: false,
            within: None,
            ..self
        }
    }

    /// Returns the context with another mode.
    pub(in crate::arguments) fn with(self, mode: Mode) -> Self {
        Self { mode, ..self }
    }

    /// Returns the context for the rules of JSON Schema: `3.0` is an integer, and a denied key is an error.
    pub(in crate::arguments) fn with_schema_rules(self) -> Self {
        Self {
            denies: true,
            ..self.with(Mode::Schema)
        }
    }

    pub(in crate::arguments) fn under(self, schema: &Schema) -> Self {
        let mode = match self.mode {
            trial @ (Mode::Schema | Mode::Exact) => trial,
            _ if schema.strict => Mode::Strict,
            other => other,
        };
        let case_sensitive = self.case_sensitive || schema.case_sensitive;
        Self {
            mode,
            case_sensitive,
            ..self
        }
    }

    /// Returns whether an allowed value may have another spelling.
    pub(in crate::arguments) fn respells(self) -> bool {
        self.mode.coerces() && !self.case_sensitive
    }
}
