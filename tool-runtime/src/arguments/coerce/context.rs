//! The context that a value inherits from the schemas around it.

use crate::arguments::rules::Mode;
use crate::schema::compiled::{Schema, SchemaId};

/// The circumstances of a coercion, beyond value and schema.
#[allow(clippy::struct_excessive_bools, reason = "each is independent of the others")]
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct CoercionContext {
    pub(in crate::arguments) mode: Mode,
    /// Whether enum values, enum keys of maps and tags have one spelling only.
    pub(in crate::arguments) case_sensitive: bool,
    /// Whether a key that the schema denies is an error: the call is strict, not only a parameter of it.
    pub(in crate::arguments) denies: bool,
    /// Whether one value may stand for a list: it is the value of a property or of an entry.
    pub(in crate::arguments) wraps: bool,
    /// The conjunction whose keys are all known; or the union that serde reads, each of whose keys may be another
    /// alternative's.
    pub(in crate::arguments) within: Option<SchemaId>,
    pub(in crate::arguments) stability: Stability,
    /// Whether it is a key of a map whose assertions (`not`, `if` …) the validation judges later, with a message. If a match of
    /// an alternative is asked for, they count at once.
    pub(in crate::arguments) defers_assertions: bool,
}

/// Who sees to it that what a conjunction makes of a value is read as just that again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Stability {
    /// The conjunction itself: another alternative that takes it would hide that this one does not.
    Own,
    /// The one that it is a part of.
    OfWhole,
    /// No caller: the value is read again to see whether the result is the same.
    Unchecked,
}

impl CoercionContext {
    /// The arguments as a whole.
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

    /// An alternative of a union.
    pub(in crate::arguments) fn alternative(self) -> Self {
        let stability = match self.stability {
            Stability::Own | Stability::OfWhole => Stability::Own,
            Stability::Unchecked => Stability::Unchecked,
        };
        Self { stability, ..self }
    }

    /// A part of a conjunction.
    pub(in crate::arguments) fn part(self) -> Self {
        let stability = match self.stability {
            Stability::Own | Stability::OfWhole => Stability::OfWhole,
            Stability::Unchecked => Stability::Unchecked,
        };
        Self { stability, ..self }
    }

    /// The context in which a coerced value is read again.
    pub(in crate::arguments) fn again(self) -> Self {
        Self {
            stability: Stability::Unchecked,
            ..self
        }
    }

    /// The value of a property or of a map's entry.
    pub(in crate::arguments) fn entry(self) -> Self {
        Self {
            wraps: true,
            within: None,
            ..self
        }
    }

    /// A key of a map.
    pub(in crate::arguments) fn key(self) -> Self {
        Self {
            defers_assertions: !matches!(self.mode, Mode::Schema | Mode::Exact),
            ..self
        }
    }

    /// An item of a list.
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

    /// As JSON Schema has it: `3.0` is an integer, and a key that is denied is a mistake.
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

    /// Whether an allowed value may come in another spelling.
    pub(in crate::arguments) fn respells(self) -> bool {
        self.mode.coerces() && !self.case_sensitive
    }
}
