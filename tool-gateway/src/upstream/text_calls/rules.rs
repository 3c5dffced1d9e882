//! [`TextCallRules`]: the texts in which calls are recovered.

use tool_runtime::repair::calls::{CallLimits, Formats};

use crate::name_pattern;

/// Texts in which calls are recovered. By default, there are none.
///
/// ```
/// use tool_gateway::upstream::TextCallRules;
/// use tool_runtime::repair::calls::Format;
///
/// let rules = TextCallRules::new([Format::Tags, Format::Json].into_iter().collect()).with_models(["qwen*"]);
/// # let _ = rules;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextCallRules {
    pub(crate) formats: Formats,
    /// Names of served models, in which `*` matches any text.
    pub(crate) models: Vec<String>,
    pub(crate) thoughts: TextThoughts,
    /// Maximum number of bytes from the beginning of possible calls to the end of a text.
    pub(crate) max_held: usize,
}

/// Treatment of thoughts in tags at the beginning of a text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum TextThoughts {
    /// They stay text.
    #[default]
    Keep,
    /// They become thinking.
    Split,
}

impl TextCallRules {
    /// Creates rules for texts of all models. `tags` and `json` are advised before local servers.
    pub fn new(formats: Formats) -> Self {
        Self {
            formats,
            models: vec!["*".to_owned()],
            thoughts: TextThoughts::Keep,
            max_held: CallLimits::default().held,
        }
    }

    /// Limits the rules to models with these names at the server, in which `*` matches any text.
    #[must_use]
    pub fn with_models<'m>(mut self, models: impl IntoIterator<Item = &'m str>) -> Self {
        self.models = models.into_iter().map(str::to_owned).collect();
        self
    }

    /// Sets the maximum number of bytes from the beginning of possible calls to the end of a text: 1 MiB by default. A longer text has no
    /// calls.
    #[must_use]
    pub fn with_max_held(mut self, bytes: usize) -> Self {
        self.max_held = bytes;
        self
    }

    /// Returns whether calls are recovered at all.
    pub(crate) fn is_on(&self) -> bool {
        !self.formats.is_empty()
    }

    /// Returns whether the rules apply to a served model.
    pub(crate) fn apply_to(&self, model: &str) -> bool {
        self.is_on()
            && self
                .models
                .iter()
                .any(|pattern| name_pattern::matches(pattern, model))
    }

    pub(crate) fn limits(&self) -> CallLimits {
        CallLimits { held: self.max_held }
    }
}

impl Default for TextCallRules {
    fn default() -> Self {
        Self::new(Formats::NONE)
    }
}
