//! Reads the arguments of a call without running the function.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::arguments::policy::Policy;
use crate::arguments::{self, Coerced};
use crate::call::{catch, explain};
use crate::host::Host;
use crate::host::context::Context;
use crate::host::session_values::SessionValues;
use crate::tool::entry::RegisteredTool;
use crate::tool::table::Tools;
use crate::tool::tool_trait::Invocation;
use crate::wire::issue::{Code, Issue};
use crate::wire::raw_arguments::RawArguments;

/// A call with its coerced arguments, unknown ones included, before the function runs: the result of
/// [`ToolRegistry::prepare`](crate::ToolRegistry::prepare). For permission dialogs and gateways.
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
    /// The id of the call.
    pub tool_use_id: String,
    /// The tool's name.
    pub name: String,
    /// The arguments as they were sent.
    pub raw_arguments: RawArguments<'static>,
    /// The arguments after coercion; unknown and invalid ones as they were sent.
    pub arguments: Map<String, Value>,
    /// The same as compact JSON text, with the exact text of numbers, which a [`Value`] cannot represent.
    #[serde(skip)]
    pub arguments_json: String,
    /// The defaults of missing arguments. Empty for a dynamic tool.
    #[serde(skip)]
    pub defaults: Map<String, Value>,
    /// Arguments that were changed, ignored, or kept although the schema does not declare them.
    pub warnings: Vec<Issue>,
    /// Why the call would be rejected; empty if it is valid.
    pub errors: Vec<Issue>,
}

impl ToolCallRequest {
    /// The value that the function would get for a parameter: the argument, or the default if it is missing.
    pub fn argument(&self, name: &str) -> Option<&Value> {
        self.arguments.get(name).or_else(|| self.defaults.get(name))
    }

    /// The arguments with the defaults of those that are missing.
    pub(crate) fn complete_arguments(&self) -> Map<String, Value> {
        let mut arguments = self.arguments.clone();
        arguments.extend(self.defaults.clone());
        arguments
    }

    /// Whether a [`Value`] represents every argument: two numbers beyond 64 bits may be equal as values.
    pub(crate) fn is_exact(&self) -> bool {
        serde_json::to_string(&self.arguments).is_ok_and(|text| text == self.arguments_json)
    }
}

/// Reads a call's arguments without running the function.
pub(crate) fn prepare(
    tools: &Tools,
    id: String,
    name: String,
    input: RawArguments<'static>,
    policy: Option<Policy>,
) -> ToolCallRequest {
    if let Some((nested, inner_name)) = tools.nested(&name) {
        let request = prepare(&nested.tools, id, inner_name.to_owned(), input, policy);
        return ToolCallRequest { name, ..request };
    }
    let mut defaults = Map::new();
    let (
        Coerced {
            arguments,
            mut issues,
        },
        arguments_json,
    ) = if let Some(tool) = tools.tool(&name) {
        defaults.clone_from(&tool.defaults);
        arguments::coerce_to_text(tools.reader(tool, policy), &input)
    } else {
        let unknown = Coerced {
            arguments: Map::new(),
            issues: vec![unknown_tool(tools, &name)],
        };
        (unknown, "{}".to_owned())
    };
    if let Some(tool) = tools.tool(&name).filter(|tool| tool.compiled.is_typed())
        && let Some(found) = issues_of_call(tools, tool, &input, policy)
    {
        issues = found;
    }
    defaults.retain(|parameter, _| !arguments.contains_key(parameter));
    let (errors, warnings) = issues.into_iter().partition(Issue::is_error);
    ToolCallRequest {
        tool_use_id: id,
        name,
        raw_arguments: input,
        arguments,
        arguments_json,
        defaults,
        warnings,
        errors,
    }
}

/// The issues that the call would have, those of the types of its parameters included: these may refuse what the schema allows.
/// `None` if a type panics.
fn issues_of_call(
    tools: &Tools,
    tool: &RegisteredTool,
    input: &RawArguments<'_>,
    policy: Option<Policy>,
) -> Option<Vec<Issue>> {
    // Values of its own, so that a call that is only looked at begins no session.
    let context = Context::new().with_session_values(SessionValues::new());
    let mut issues = Vec::new();
    let mut invocation = Invocation {
        tool: tool.qualified_name.as_str(),
        reader: tools.reader(tool, policy),
        input: input.clone(),
        host: Host::new(&tools.states, &context, None),
        issues: &mut issues,
        is_dry_run: true,
    };
    catch::catch_panic(|| (tool.handler)(&mut invocation)).ok()?;
    drop(invocation);
    Some(issues)
}

fn unknown_tool(tools: &Tools, name: &str) -> Issue {
    let mut message = explain::not_found(name);
    if let Some(known) = explain::known_names(name, tools) {
        message.push_str("; ");
        message.push_str(&known);
    }
    Issue::error(Code::UnknownTool, "", message).about(name)
}
