//! [`AllowRule`]: a call that is allowed without asking again, and [`AllowRules`]: those of a session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Allows calls without asking: every call of a tool, or those with equal arguments.
///
/// [`Decision::AllowAlways`](crate::permission::Decision::AllowAlways) adds one to the [rules](AllowRules) of the session.
///
/// ```
/// use tool_runtime::permission::AllowRule;
/// use tool_runtime::serde_json::{from_value, json, to_value};
///
/// let rule = AllowRule::for_tool("files__delete");
/// assert_eq!(to_value(&rule).unwrap(), json!({ "tool": "files__delete", "arguments": null }));
///
/// let stored = json!({ "tool": "files__delete", "arguments": { "path": "/tmp/a" } });
/// let rule: AllowRule = from_value(stored).unwrap();
/// assert_eq!(rule.arguments.unwrap()["path"], "/tmp/a");
/// ```
// An unknown field may be a condition: a rule that is read without it would allow more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AllowRule {
    /// The tool, by the name that the model calls it by: with the prefix of a [nested](crate::ToolRegistry::nest) registry.
    pub tool: String,
    /// The arguments after coercion, with the defaults of missing ones: a call is allowed if all of the rule's arguments are equal to them. `None`
    /// allows every call.
    // Required: a rule that lost its arguments would allow every call.
    #[serde(deserialize_with = "Option::deserialize")]
    pub arguments: Option<Map<String, Value>>,
}

impl AllowRule {
    /// Allows every call of a tool.
    pub fn for_tool(tool: impl Into<String>) -> Self {
        Self {
            tool: tool.into(),
            arguments: None,
        }
    }

    /// Allows the calls of a tool with equal arguments.
    pub fn for_call(tool: impl Into<String>, arguments: Map<String, Value>) -> Self {
        Self {
            tool: tool.into(),
            arguments: Some(arguments),
        }
    }
}

/// The rules of a session: what was decided with [`Decision::AllowAlways`](crate::permission::Decision::AllowAlways).
///
/// They are a [session state](crate::SessionState), kept and stored with the others: the host can show them, remove one, or add one before
/// the first call. Calls without a session share their rules.
///
/// ```
/// use tool_runtime::ToolRegistry;
/// use tool_runtime::permission::{AllowRule, AllowRules};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let registry = ToolRegistry::new();
/// let rules = registry.session_values(Some("s-1")).get::<AllowRules>()?;
/// rules.lock().add(AllowRule::for_tool("delete"));
/// assert_eq!(rules.lock().0[0].tool, "delete");
/// rules.lock().0.clear();
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AllowRules(pub Vec<AllowRule>);

impl AllowRules {
    /// Adds a rule, unless there is an equal one.
    pub fn add(&mut self, rule: AllowRule) {
        if !self.0.contains(&rule) {
            self.0.push(rule);
        }
    }

    /// Returns whether one of the rules allows a call with these arguments; `None` if they cannot be compared.
    pub(crate) fn allow(&self, tool: &str, arguments: Option<&Map<String, Value>>) -> bool {
        self.0.iter().any(|rule| {
            let is_equal = |expected| arguments.is_some_and(|arguments| arguments == expected);
            rule.tool == tool && rule.arguments.as_ref().is_none_or(is_equal)
        })
    }
}
