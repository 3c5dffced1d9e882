//! Reads the arguments of a call without running the function.

use serde_json::Map;

use crate::arguments::policy::Policy;
use crate::arguments::{self, Coerced};
use crate::call::request::ToolCallRequest;
use crate::call::table::Tools;
use crate::call::tool_call::ToolCall;
use crate::call::{catch, explain};
use crate::host::Host;
use crate::host::context::Context;
use crate::host::session_values::SessionValues;
use crate::tool::entry::RegisteredTool;
use crate::tool::tool_trait::Invocation;
use crate::wire::issue::{Code, Issue};
use crate::wire::raw_arguments::RawArguments;

/// Reads a call's arguments without running the function.
pub(crate) fn prepare(tools: &Tools, call: ToolCall) -> ToolCallRequest {
    if let Some((nested, inner_name)) = tools.nested(&call.name) {
        let inner = ToolCall {
            name: inner_name.to_owned(),
            ..call
        };
        let request = prepare(&nested.tools, inner);
        return ToolCallRequest {
            name: call.name,
            ..request
        };
    }
    let ToolCall {
        id,
        name,
        input,
        policy,
        ..
    } = call;
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

/// Returns the issues of the call, including errors of parameter types, which may reject values that the schema
/// allows. `None` if a type panics.
fn issues_of_call(
    tools: &Tools,
    tool: &RegisteredTool,
    input: &RawArguments<'_>,
    policy: Option<Policy>,
) -> Option<Vec<Issue>> {
    // The session values are separate, so that preparing a call creates no session.
    let context = Context::new().with_session_values(SessionValues::new());
    let mut issues = Vec::new();
    let mut invocation = Invocation {
        reader: tools.reader(tool, policy),
        input: input.clone(),
        host: Host::new(&tool.qualified_name, &tools.states, &context, None),
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
