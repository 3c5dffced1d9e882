//! [`AllowRule`] allows calls without asking again; [`AllowRules`] are the rules of a session.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Allows calls without asking: every call of a tool, or its calls with equal arguments.
///
/// [`Decision::AllowAlways`](crate::permission::Decision::AllowAlways) adds a rule to the [rules](AllowRules) of the
/// session.
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
// An unknown field may be a condition: reading the rule without it would allow more.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct AllowRule {
    /// Name of the tool, as the model calls it: with the prefix of a [nested](crate::ToolRegistry::nest) registry.
    pub tool: String,
    /// Arguments after coercion, with the defaults of missing arguments. A call is allowed if all of its arguments
    /// equal the rule's. `None` allows every call.
    // The arguments are required: a rule without arguments would allow every call.
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

/// The rules of a session, added by [`Decision::AllowAlways`](crate::permission::Decision::AllowAlways).
///
/// The rules are a [session state](crate::SessionState), which is kept and stored with the other states. The host can
/// show the rules, remove one, or add one before the first call. Calls without a session share their rules.
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
    /// Adds a rule, unless an equal rule exists.
    pub fn add(&mut self, rule: AllowRule) {
        if !self.0.contains(&rule) {
            self.0.push(rule);
        }
    }

    /// Returns whether one of the rules allows a call with these arguments; `None` if the arguments cannot be
    /// compared.
    pub(crate) fn allow(&self, tool: &str, arguments: Option<&Map<String, Value>>) -> bool {
        self.0.iter().any(|rule| {
            let is_equal = |expected| arguments.is_some_and(|arguments| arguments == expected);
            rule.tool == tool && rule.arguments.as_ref().is_none_or(is_equal)
        })
    }
}
