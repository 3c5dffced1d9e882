//! [`ModelRule`]: the served model for a client's name of a model.

use serde::Deserialize;

use super::positive_number::PositiveNumber;
use crate::name_pattern;

/// A row of `[[models]]`. The first row that matches a name applies; without one, the name is sent unchanged.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ModelRule {
    /// Name of the client, in which `*` matches any text.
    #[serde(rename = "match")]
    pub(crate) pattern: String,
    /// Name that the server receives; by default, the name of the client.
    pub(crate) serve: Option<String>,
    /// Maximum of `max_tokens`.
    pub(crate) max_tokens: Option<PositiveNumber>,
}

impl ModelRule {
    /// Returns the name, if the pattern matches no other one.
    pub(super) fn literal_name(&self) -> Option<&str> {
        Some(self.pattern.as_str()).filter(|pattern| !pattern.contains('*'))
    }

    /// Returns the first rule for a name.
    pub(super) fn find<'r>(rules: &'r [Self], model: &str) -> Option<&'r Self> {
        rules
            .iter()
            .find(|rule| name_pattern::matches(&rule.pattern, model))
    }
}
