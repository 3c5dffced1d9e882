//! [`ToolCallRequest`]: a call with parsed arguments, before its function runs.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::wire::issue::Issue;
use crate::wire::raw_arguments::RawArguments;

/// Call with its coerced arguments, including unknown arguments, before the function runs. It is the result of
/// [`ToolRegistry::prepare`](crate::ToolRegistry::prepare), for permission dialogs and gateways.
///
/// ```
/// use tool_runtime::{ToolCall, ToolRegistry, tool};
///
/// /// Send money.
/// #[tool]
/// async fn send_money(
///     /// How much, in euros.
///     euros: u32,
/// ) {}
///
/// let mut registry = ToolRegistry::new();
/// registry.register::<send_money>().unwrap();
/// let request = registry.prepare(ToolCall::new("toolu_01", "send_money", r#"{ "euros": "5", "to": "Bo" }"#));
/// assert_eq!(request.arguments_json, r#"{"euros":5,"to":"Bo"}"#);
/// assert_eq!((request.warnings.len(), request.errors.len()), (2, 0));
/// ```
// R-ARG-11.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct ToolCallRequest {
    /// Id of the call.
    pub tool_use_id: String,
    /// Name of the tool.
    pub name: String,
    /// Unparsed arguments.
    pub raw_arguments: RawArguments<'static>,
    /// Arguments after coercion. Unknown and invalid arguments are unchanged.
    pub arguments: Map<String, Value>,
    /// Arguments as compact JSON text, with the exact text of numbers, which a [`Value`] cannot represent.
    #[serde(skip)]
    pub arguments_json: String,
    /// Defaults of missing arguments; empty for a dynamic tool.
    #[serde(skip)]
    pub defaults: Map<String, Value>,
    /// Arguments that were changed, ignored, or kept although the schema does not declare them.
    pub warnings: Vec<Issue>,
    /// Errors for which the call would be rejected; empty for a valid call.
    pub errors: Vec<Issue>,
}

impl ToolCallRequest {
    /// Returns the value that the function would receive for a parameter: the argument, or the default of a missing
    /// argument.
    pub fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.get(name).or_else(|| self.defaults.get(name))
    }

    /// Returns the arguments, with defaults for missing arguments.
    pub(crate) fn complete_arguments(&self) -> Map<String, Value> {
        let mut arguments = self.arguments.clone();
        arguments.extend(self.defaults.clone());
        arguments
    }

    /// Returns whether a [`Value`] represents every argument exactly: two different numbers beyond 64 bits may be
    /// equal as values.
    pub(crate) fn is_exact(&self) -> bool {
        serde_json::to_string(&self.arguments).is_ok_and(|text| text == self.arguments_json)
    }
}
