//! The pipeline of a call: finds the tool, reads the arguments, runs the function, and creates the result.

use std::time::Duration;

use crate::arguments::policy::Policy;
use crate::call::catch::{self, CallLimits, CatchUnwind, Completion};
use crate::call::explain;
use crate::call::table::Tools;
use crate::call::tool_call::ToolCall;
use crate::host::Host;
use crate::host::context::{CancellationToken, Context};
use crate::tool::entry::RegisteredTool;
use crate::tool::tool_trait::{Invocation, Started};
use crate::wire::issue::{self, Code, Issue};
use crate::wire::raw_arguments::RawArguments;
use crate::wire::result::{Failure, ToolOutcome, ToolOutput, ToolResult};

/// State of a running call: the arguments, which are consumed, borrowed settings, and the recorded outcome.
///
/// The futures of a call borrow this state. Copies of the state between the futures would cost a third of a call.
#[derive(Debug)]
pub(crate) struct CallState<'a> {
    pub(crate) name: &'a str,
    pub(crate) input: RawArguments<'a>,
    pub(crate) context: &'a Context,
    pub(crate) policy: Option<Policy>,
    /// Outcome. Its result has the id of the call from the start.
    pub(crate) outcome: ToolOutcome,
}

impl<'a> CallState<'a> {
    #[inline]
    pub(crate) fn new(id: String, name: &'a str, input: RawArguments<'a>, context: &'a Context) -> Self {
        Self {
            name,
            input,
            context,
            policy: None,
            outcome: ToolOutcome::new(ToolResult::pending(id)),
        }
    }

    /// Creates the state from the id and the arguments of a call.
    pub(crate) fn from_call(call: &'a mut ToolCall) -> Self {
        let id = std::mem::take(&mut call.id);
        let mut state = Self::new(id, &call.name, call.input.take(), &call.context);
        state.policy = call.policy;
        state
    }

    #[inline]
    pub(crate) fn id(&self) -> &str {
        &self.outcome.result.tool_use_id
    }

    /// Returns whether the host recovered the call from text.
    #[inline]
    #[cfg_attr(
        not(feature = "calls"),
        allow(clippy::unused_self, reason = "the feature `calls` reads the context")
    )]
    pub(crate) fn is_from_text(&self) -> bool {
        #[cfg(feature = "calls")]
        return self
            .context
            .extension::<crate::host::from_text::FromText>()
            .is_some();
        #[cfg(not(feature = "calls"))]
        false
    }

    /// Adds the warning of a call that was recovered from text.
    fn warn_if_from_text(&mut self) {
        if self.is_from_text() {
            let message = "the call arrived as text, and was read as a call";
            let warning = Issue::warning(Code::RecoveredFromText, "", message);
            self.outcome.warnings.push(warning);
        }
    }

    /// Moves the arguments into an owned call, for layers.
    pub(crate) fn take_call(&mut self) -> ToolCall {
        let input = self.input.take();
        let mut call = ToolCall::new(self.id(), self.name, input).with_context(self.context.clone());
        call.policy = self.policy;
        call
    }

    /// Fails the call with a text for the model.
    pub(crate) fn fail(&mut self, failure: Failure, text: &str) {
        self.outcome.failure = Some(failure);
        self.set_output(ToolOutput::error(text));
    }

    #[inline]
    fn set_output(&mut self, output: ToolOutput) {
        let ToolOutput {
            content,
            is_error,
            structured,
            ..
        } = output;
        self.outcome.result.content = content;
        self.outcome.result.is_error = is_error;
        self.outcome.result.structured = structured;
    }
}

/// Runs a call and sets its outcome. Failures and panics of the tool are outcomes, too.
pub(crate) async fn handle(tools: &Tools, call: &mut CallState<'_>) {
    let Some(tool) = tools.tool(call.name) else {
        return not_found(tools, call);
    };
    let limits = limits(call.context, tool);
    if let Some(failure) = limits.stop_reason() {
        return call.fail(
            failure,
            &explain::stopped_before_start(tool.qualified_name.as_str(), failure),
        );
    }
    let completion = match start(tools, tool, call, limits) {
        // The guard cancels the token of the call when the function completes or is dropped.
        Ok(Some(Started {
            future,
            guard: _guard,
        })) if limits.is_empty() => CatchUnwind::new(future).await.into(),
        // The future is boxed, since it would enlarge the future of every other call.
        Ok(Some(started)) => Box::pin(run_within(limits, started)).await,
        Ok(None) => return reject(tool, call),
        Err(failure) => Err(failure).into(),
    };
    respond(tools, tool, call, completion);
}

/// Reads the arguments and calls the function; `None` for rejected arguments. The arguments are freed before the future of
/// the function runs, which may take long.
#[inline]
fn start(
    tools: &Tools,
    tool: &RegisteredTool,
    call: &mut CallState<'_>,
    limits: CallLimits<'_>,
) -> Result<Option<Started>, Failure> {
    let mut invocation = Invocation {
        reader: tools.reader(tool, call.policy),
        input: call.input.take(),
        host: Host::new(&tool.qualified_name, &tools.states, call.context, limits.deadline),
        issues: &mut call.outcome.warnings,
        is_dry_run: false,
    };
    let started = catch::catch_panic(|| (tool.handler)(&mut invocation))?;
    if started.is_none()
        && let Some(error) = invocation.host.take_error()
    {
        let (parameter, error) = *error;
        tracing::error!(tool = tool.qualified_name.as_str(), parameter, %error, "the host did not supply a parameter");
        invocation.issues.retain(|issue| !issue.is_error());
        return Err(Failure::HostValue);
    }
    Ok(started)
}

/// Returns the earlier of the context's deadline and the tool's own timeout, and the context's token.
#[inline]
fn limits<'a>(context: &'a Context, tool: &RegisteredTool) -> CallLimits<'a> {
    let timeout = tool.timeout.and_then(|timeout| catch::now().checked_add(timeout));
    CallLimits {
        deadline: [context.deadline(), timeout].into_iter().flatten().min(),
        token: context.external_token(),
    }
}

/// Awaits the function's future, stopping it at a limit.
async fn run_within(limits: CallLimits<'_>, started: Started) -> Completion<ToolOutput> {
    let Started { future, guard } = started;
    // A function without a token has no grace period, since it cannot notice the stop.
    let grace_period = guard
        .as_ref()
        .map_or(Duration::ZERO, |_| CancellationToken::GRACE_PERIOD);
    catch::run(future, limits, None, guard, grace_period).await
}

/// Completes the outcome with the function's output or failure.
#[inline]
fn respond(
    tools: &Tools,
    tool: &RegisteredTool,
    call: &mut CallState<'_>,
    completion: Completion<ToolOutput>,
) {
    match completion.output {
        Ok(output) => {
            // Functions are checked in debug builds only, since the check costs more than a call; `testing` checks in release builds,
            // too. The value of a dynamic tool comes from elsewhere, and no test has seen its source.
            if let Some(value) = &output.structured
                && (cfg!(debug_assertions) || tool.function.is_none())
            {
                call.outcome.has_wrong_value = tool.log_wrong_structured_value(value);
            }
            call.outcome.failure = output.failure();
            call.set_output(output);
            call.outcome
                .result
                .replace_empty_content(Some(tool.qualified_name.as_str()));
        }
        Err(failure) => call.fail(failure, &explain::failure(tool.qualified_name.as_str(), failure)),
    }
    call.warn_if_from_text();
    let outcome = &mut call.outcome;
    if completion.stop_reason.is_some() {
        outcome.failure = completion.stop_reason;
    }
    if tools.warnings_in_results && !outcome.warnings.is_empty() {
        outcome.notes.push(explain::warnings_note(&outcome.warnings));
    }
}

fn not_found(tools: &Tools, call: &mut CallState<'_>) {
    call.fail(Failure::NotFound, &explain::not_found(call.name));
    call.outcome.notes.extend(explain::known_names(call.name, tools));
}

fn reject(tool: &RegisteredTool, call: &mut CallState<'_>) {
    let issues = std::mem::take(&mut call.outcome.warnings);
    issue::log(tool.qualified_name.as_str(), &issues);
    let (errors, warnings): (Vec<_>, Vec<_>) = issues.into_iter().partition(Issue::is_error);
    let name = tool.qualified_name.as_str();
    let text = match tool
        .format_errors
        .map(|format| catch::catch_panic(|| format(&errors)))
    {
        Some(Ok(text)) if !text.trim().is_empty() => text,
        Some(Err(failure)) => explain::failure(name, failure),
        _ => explain::errors(name, &errors, &warnings),
    };
    call.fail(Failure::InvalidArguments, &text);
    call.outcome.errors = errors;
    call.outcome.warnings = warnings;
    call.warn_if_from_text();
}

/// Returns a failed outcome with a text for the model.
pub(crate) fn failed(id: String, failure: Failure, text: &str) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(ToolResult::new(id, ToolOutput::error(text)));
    outcome.failure = Some(failure);
    outcome
}
