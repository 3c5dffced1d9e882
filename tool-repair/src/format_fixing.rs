//! The configuration block `format_fixing`: which tools' arguments are repaired in a stream, and what happens to
//! those that cannot be.

/// What is repaired in streams of tool calls. With the feature `serde` it is read from a configuration: every key may
/// be left out; an unknown one is an error, and so is a name that no tool can have.
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
    reason = "the keys of the configuration, each a switch of its own"
)]
pub struct FormatFixing {
    /// Whether anything is done at all. Off, streams pass without being looked at.
    pub enabled: bool,
    /// Whose arguments are repaired. Calls of other tools pass untouched.
    pub target_tools: TargetTools,
    /// Whether the result of a repair is checked to be JSON before it is sent. Off, the record of the repair says
    /// that it was not.
    pub strict_validation: bool,
    /// What becomes of a call that cannot be repaired: on, its arguments are sent as they came; off, the stream
    /// ends with an error in its own form.
    pub fallback_on_error: bool,
    /// Whether each fix is logged with `tracing`, with its place, at debug level. Never with its text. Without the
    /// feature `tracing` nothing is logged.
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
    /// The defaults, but for every tool: the arguments of any call are repaired, whatever its name.
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
/// Read from a list of names, from a list that holds `"*"`, or from `"*"` alone; written as a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TargetTools {
    /// Every tool, whatever its name.
    All,
    /// The tools of these names, compared letter by letter.
    Named(Vec<String>),
}

impl TargetTools {
    /// The tools of these names; `"*"` among them means every tool.
    pub fn named<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        let names: Vec<String> = names.into_iter().map(Into::into).collect();
        if names.iter().any(|name| name == EVERY) {
            Self::All
        } else {
            Self::Named(names)
        }
    }

    /// Whether the arguments of the tool of this name are repaired.
    pub fn contains(&self, tool: &str) -> bool {
        match self {
            Self::All => true,
            Self::Named(names) => names.iter().any(|name| name == tool),
        }
    }
}

/// The name that stands for every tool.
pub(crate) const EVERY: &str = "*";
