//! The pipeline of a call: find the tool, read the arguments, run the function, respond.

use std::time::{Duration, Instant};

use crate::arguments::policy::Policy;
use crate::call::catch::{self, CatchUnwind, Completion, Limits};
use crate::call::explain;
use crate::call::tool_call::ToolCall;
use crate::host::Host;
use crate::host::context::{CancellationToken, Context};
use crate::tool::declared::{Invocation, Started};
use crate::tool::entry::RegisteredTool;
use crate::tool::table::Tools;
use crate::wire::issue::{self, Issue};
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{Failure, ToolOutcome, ToolOutput, ToolResult};

/// The parts of a call: the id, which goes into the result, the arguments, which are consumed, and borrowed settings.
#[derive(Debug)]
pub(crate) struct CallParts<'a> {
    pub(crate) id: String,
    pub(crate) name: &'a str,
    pub(crate) input: RawArguments<'a>,
    pub(crate) context: &'a Context,
    pub(crate) policy: Option<Policy>,
}

impl<'a> CallParts<'a> {
    /// Takes the id and the arguments of a call.
    pub(crate) fn of(call: &'a mut ToolCall) -> Self {
        Self {
            id: std::mem::take(&mut call.id),
            name: &call.name,
            input: call.input.take(),
            context: &call.context,
            policy: call.policy,
        }
    }

    /// Converts into an owned call, for layers.
    pub(crate) fn into_owned(self) -> ToolCall {
        let mut call = ToolCall::new(self.id, self.name, self.input).with_context(self.context.clone());
        call.policy = self.policy;
        call
    }
}

/// Runs one call. Failures and panics of the tool become part of the outcome.
pub(crate) async fn handle(tools: &Tools, call: CallParts<'_>) -> ToolOutcome {
    let CallParts {
        id,
        name,
        input,
        context,
        policy,
    } = call;
    let Some(tool) = tools.tool(name) else {
        return not_found(tools, id, name);
    };
    let limits = limits(context, tool);
    if let Some(failure) = limits.stop_reason() {
        return failed(id, failure, &explain::stopped_before_start(name, failure));
    }
    let mut invocation = Invocation {
        tool: tool.name.as_str(),
        reader: tools.reader(tool, policy),
        input,
        host: Host::new(&tools.states, context, limits.deadline),
        issues: Vec::new(),
        is_dry_run: false,
    };
    let started = catch::catch_panic(|| (tool.handler)(&mut invocation));
    // The function may run for long, so the arguments are freed before.
    let issues = std::mem::take(&mut invocation.issues);
    drop(invocation);
    let completion = match started {
        Ok(Some(started)) => run(started, limits).await,
        Ok(None) => return rejected(id, tool, issues),
        Err(failure) => Err(failure).into(),
    };
    respond(tools, tool, id, completion, issues)
}

/// The earlier of the context's deadline and the tool's own timeout, and the context's token.
#[inline]
fn limits<'a>(context: &'a Context, tool: &RegisteredTool) -> Limits<'a> {
    let timeout = tool
        .timeout
        .and_then(|timeout| Instant::now().checked_add(timeout));
    Limits {
        deadline: [context.deadline(), timeout].into_iter().flatten().min(),
        token: context.external_token(),
    }
}

/// Awaits the function's future.
async fn run(started: Started, limits: Limits<'_>) -> Completion<ToolOutput> {
    // Cancels the call's own token when the function has completed or is dropped.
    let Started { future, guard } = started;
    if limits.is_empty() {
        return CatchUnwind::new(future).await.into();
    }
    // A function without a token gets no grace period: it cannot notice that it is stopped.
    let grace_period = guard
        .as_ref()
        .map_or(Duration::ZERO, |_| CancellationToken::GRACE_PERIOD);
    // Boxed, since it would enlarge the future of every other call.
    Box::pin(catch::run(future, limits, guard, grace_period)).await
}

/// Creates the outcome from the function's output or failure.
#[inline]
fn respond(
    tools: &Tools,
    tool: &RegisteredTool,
    id: String,
    completion: Completion<ToolOutput>,
    warnings: Vec<Issue>,
) -> ToolOutcome {
    let mut outcome = match completion.output {
        Ok(output) => {
            let mut outcome = ToolOutcome::new(ToolResult::new(id, output));
            outcome.failure = outcome.result.is_error.then_some(Failure::Failed);
            outcome
        }
        Err(failure) => failed(id, failure, &explain::failure(tool.name.as_str(), failure)),
    };
    if completion.stop_reason.is_some() {
        outcome.failure = completion.stop_reason;
    }
    if tools.warnings_in_results && !warnings.is_empty() {
        outcome.notes.push(explain::warnings_note(&warnings));
    }
    outcome.warnings = warnings;
    outcome
}

/// A failed outcome with a text for the model.
pub(crate) fn failed(id: String, failure: Failure, text: &str) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(ToolResult::new(id, ToolOutput::error(text)));
    outcome.failure = Some(failure);
    outcome
}

fn not_found(tools: &Tools, id: String, name: &str) -> ToolOutcome {
    let mut outcome = failed(id, Failure::NotFound, &explain::not_found(name));
    outcome.notes.extend(explain::known_names(name, tools));
    outcome
}

fn rejected(id: String, tool: &RegisteredTool, issues: Vec<Issue>) -> ToolOutcome {
    issue::log(tool.name.as_str(), &issues);
    let (errors, warnings): (Vec<_>, Vec<_>) = issues.into_iter().partition(Issue::is_error);
    let message = match tool.format_errors {
        Some(format_errors) => catch::catch_panic(|| format_errors(&errors)),
        None => Ok(explain::errors(tool.name.as_str(), &errors, &warnings)),
    };
    let text = message.unwrap_or_else(|failure| explain::failure(tool.name.as_str(), failure));
    let mut outcome = failed(id, Failure::InvalidArguments, &text);
    outcome.errors = errors;
    outcome.warnings = warnings;
    outcome
}
