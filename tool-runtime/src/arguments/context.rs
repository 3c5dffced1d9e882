//! What a value inherits from where it stands.

use super::rules::Rigor;
use crate::schema::shape::{Form, FormId};

/// How a value is held against its form, beyond the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(super) rigor: Rigor,
    /// Whether a key that the schema denies is an error: the call is strict, not only a parameter of it.
    pub(super) denies: bool,
    /// Whether one value may stand for a list: it is the value of a property or of an entry.
    pub(super) wraps: bool,
    /// The conjunction whose keys are all known.
    pub(super) within: Option<FormId>,
}

impl Context {
    /// The arguments as a whole.
    pub(crate) fn all(rigor: Rigor) -> Self {
        Self {
            rigor,
            denies: rigor == Rigor::Strict,
            wraps: false,
            within: None,
        }
    }

    /// The value of a property or of a map's entry.
    pub(super) fn entry(self) -> Self {
        Self {
            wraps: true,
            within: None,
            ..self
        }
    }

    /// An item of a list.
    pub(super) fn item(self) -> Self {
        Self {
            wraps: false,
            within: None,
            ..self
        }
    }

    /// The same with another rigor.
    pub(super) fn with(self, rigor: Rigor) -> Self {
        Self { rigor, ..self }
    }

    pub(super) fn under(self, form: &Form) -> Self {
        let rigor = match self.rigor {
            Rigor::Exact => Rigor::Exact,
            _ if form.strict => Rigor::Strict,
            other => other,
        };
        Self { rigor, ..self }
    }
}
