//! The configuration block `format_fixing`: the tools whose arguments are repaired in a stream, and the treatment of
//! arguments that cannot be repaired.

/// Configuration of the repair of tool calls in streams. The feature `serde` makes it deserializable. Every key is
/// optional; an unknown key is an error, and so is an invalid name of a tool.
///
/// ```
/// use tool_repair::FormatFixing;
///
/// let fixing: FormatFixing = serde_json::from_str(r#"{"target_tools": ["TodoWrite", "Edit"]}"#).unwrap();
/// assert!(fixing.enabled && fixing.target_tools.contains("Edit"));
/// assert!(serde_json::from_str::<FormatFixing>(r#"{"target_tool": ["Edit"]}"#).is_err());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[allow(
    clippy::struct_excessive_bools,
    reason = "the independent switches of the configuration"
)]
pub struct FormatFixing {
    /// Whether streams are repaired. If off, streams pass unread.
    pub enabled: bool,
    /// Tools whose arguments are repaired. Calls of other tools pass unchanged.
    pub target_tools: TargetTools,
    /// Whether the result of a repair is validated as JSON before it is sent. Without validation, the repair's record
    /// states that the result was not validated.
    pub strict_validation: bool,
    /// Treatment of a call that cannot be repaired. If on, the original arguments are sent; if off, the stream ends
    /// with an error in its own form.
    pub fallback_on_error: bool,
    /// Whether each fix is logged with `tracing` at debug level: its offset, never its text. Without the feature
    /// `tracing` nothing is logged.
    pub debug_logging: bool,
}

impl Default for FormatFixing {
    fn default() -> Self {
        Self {
            enabled: true,
            target_tools: TargetTools::named(["TodoWrite"]),
            strict_validation: true,
            fallback_on_error: true,
            debug_logging: false,
        }
    }
}

impl FormatFixing {
    /// Returns the defaults for every tool: the arguments of any call are repaired.
    ///
    /// ```
    /// use tool_repair::{FormatFixing, TargetTools};
    ///
    /// let fixing = FormatFixing::for_every_tool();
    /// assert!(fixing.target_tools.contains("Edit") && fixing.target_tools.contains("TodoWrite"));
    /// assert_eq!(fixing, FormatFixing { target_tools: TargetTools::All, ..FormatFixing::default() });
    /// ```
    pub fn for_every_tool() -> Self {
        Self {
            target_tools: TargetTools::All,
            ..Self::default()
        }
    }
}

/// The tools whose arguments are repaired: a list of names, or `"*"` for every tool.
///
/// Deserialized from a list of names, from a list that contains `"*"`, or from `"*"` alone; serialized as a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetTools {
    /// Every tool.
    All,
    /// The tools with exactly these names.
    Named(Vec<String>),
}

impl TargetTools {
    /// Creates a list of names; a `"*"` among the names means every tool.
    pub fn named<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.iter().any(|name| name == EVERY) {
            Self::All
        } else {
            Self::Named(names)
        }
    }

    /// Returns whether the arguments of this tool are repaired.
    pub fn contains(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|name| name == tool),
        }
    }
}

/// The name that means every tool.
pub(crate) const EVERY: &str = "*";
