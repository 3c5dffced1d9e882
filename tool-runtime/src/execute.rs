//! One call from its arrival to its outcome, alone: whatever a tool does, it takes nothing else down.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use tracing::Span;
use tracing::field::Empty;

use crate::call::ToolCall;
use crate::context::{CancellationToken, Context};
use crate::host::Host;
use crate::isolate;
use crate::issue::{Code, Issue, echo};
use crate::registered::RegisteredTool;
use crate::result::{Content, Failure, ToolOutcome, ToolOutput, ToolResult};
use crate::tool::{Call, Handled, Started};
use crate::tools::Tools;

/// Named as OpenTelemetry's `GenAI` conventions say; neither arguments nor results are in it.
pub(crate) fn span(call: &ToolCall) -> Span {
    tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {}", call.name),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %call.name,
        gen_ai.tool.call.id = %call.id,
        gen_ai.tool.r#type = "function",
        error.r#type = Empty,
    )
}

/// Finds the tool, reads the arguments, runs the function.
pub(crate) async fn run(tools: &Tools, call: ToolCall) -> ToolOutcome {
    let ToolCall {
        id,
        name,
        input,
        context,
        policy,
        ..
    } = call;
    let Some(tool) = tools.tool(&name) else {
        return failed(id, Failure::NotFound, &not_found(&name));
    };
    if context.canceller().is_some_and(CancellationToken::is_cancelled) {
        return failed(id, Failure::Cancelled, &explain_failure(tool, Failure::Cancelled));
    }
    let deadline = deadline(&context, tool.timeout);
    if deadline.is_some_and(|deadline| deadline <= Instant::now()) {
        return failed(id, Failure::TimedOut, &explain_failure(tool, Failure::TimedOut));
    }
    let policy = tools.policy_of(tool, policy);
    let handled = isolate::call(|| {
        (tool.handler)(Call {
            shape: &tool.shape,
            input,
            policy,
            host: Host::new(&tools.states, &context),
        })
    });
    let started = match handled {
        Ok(Handled::Started(started)) => started,
        Ok(Handled::Refused(issues)) => return refused(id, tool, issues),
        Err(failure) => return failed(id, failure, &explain_failure(tool, failure)),
    };
    let mut outcome = finish(id, tool, started, deadline, &context).await;
    report(tool, &outcome.warnings);
    if tools.warnings_in_results {
        append(&mut outcome.result, &outcome.warnings);
    }
    outcome
}

/// Runs a function that was started, to its end or to whatever ends it.
async fn finish(
    id: String,
    tool: &RegisteredTool,
    started: Started,
    deadline: Option<Instant>,
    context: &Context,
) -> ToolOutcome {
    let Started {
        future,
        warnings,
        guard,
    } = started;
    // Who does not listen has nothing to tidy up by himself.
    let grace = if guard.is_some() {
        isolate::GRACE
    } else {
        Duration::ZERO
    };
    let stop = isolate::Stop {
        deadline,
        token: context.canceller(),
        tell: guard,
        grace,
    };
    let ended = isolate::run(future, stop).await;
    let mut outcome = match ended.output {
        Ok(output) => finished(id, output),
        Err(failure) => failed(id, failure, &explain_failure(tool, failure)),
    };
    outcome.failure = ended.stopped.or(outcome.failure);
    outcome.warnings = warnings;
    outcome
}

/// The earlier of the context's deadline and the tool's own.
fn deadline(context: &Context, timeout: Option<Duration>) -> Option<Instant> {
    let own = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    [context.deadline(), own].into_iter().flatten().min()
}

fn finished(id: String, output: ToolOutput) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(ToolResult::new(id, output));
    outcome.failure = outcome.result.is_error.then_some(Failure::Failed);
    outcome
}

/// A failure with a text for the model; also what a batch and the layers answer with.
pub(crate) fn failed(id: String, failure: Failure, text: &str) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(ToolResult::new(id, ToolOutput::error(text)));
    outcome.failure = Some(failure);
    outcome
}

fn refused(id: String, tool: &RegisteredTool, issues: Vec<Issue>) -> ToolOutcome {
    report(tool, &issues);
    let (errors, warnings): (Vec<_>, Vec<_>) = issues.into_iter().partition(Issue::is_error);
    let worded = match tool.wording {
        Some(wording) => isolate::call(|| wording(&errors)),
        None => Ok(explain_errors(tool, &errors, &warnings)),
    };
    let text = worded.unwrap_or_else(|failure| explain_failure(tool, failure));
    let mut outcome = failed(id, Failure::InvalidArguments, &text);
    outcome.errors = errors;
    outcome.warnings = warnings;
    outcome
}

/// Seed 000, F-007: the text is fixed. A name too long for any tool is cut, as all that is echoed.
pub(crate) fn not_found(name: &str) -> String {
    format!("Tool '{}' not found", echo(name))
}

/// What the model reads when the function gave no answer of its own.
fn explain_failure(tool: &RegisteredTool, failure: Failure) -> String {
    let name = &tool.name;
    match failure {
        Failure::Panicked => format!("the tool `{name}` failed inside; other calls are not affected"),
        Failure::TimedOut => {
            format!("the tool `{name}` took too long and was stopped; ask for less, or try again later")
        }
        Failure::Cancelled => format!("the call of `{name}` was cancelled before it had an answer"),
        other => format!("the tool `{name}` gave no answer: {}", other.as_str()),
    }
}

/// What the model reads when its arguments were refused: every error, and the names that nothing has, since a name
/// that is missing may be among them.
fn explain_errors(tool: &RegisteredTool, errors: &[Issue], warnings: &[Issue]) -> String {
    let mut text = format!("`{}` was not called, its arguments need correction:", tool.name);
    let is_unknown = |issue: &&Issue| matches!(issue.code, Code::UnknownParameter | Code::UnknownProperty);
    list(&mut text, errors.iter().chain(warnings.iter().filter(is_unknown)));
    text
}

/// A line for each finding; of very many the first, which say enough to start over.
fn list<'i>(text: &mut String, issues: impl Iterator<Item = &'i Issue> + Clone) {
    for issue in issues.clone().take(MOST_LISTED) {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {issue}");
    }
    let more = issues.skip(MOST_LISTED).count();
    if more > 0 {
        let _ = write!(text, "\n- and {more} more");
    }
}

/// More lines than this help no model.
const MOST_LISTED: usize = 50;

/// Tells the host what was found, without the values: those may be private.
fn report(tool: &RegisteredTool, issues: &[Issue]) {
    for issue in issues {
        let (code, path) = (issue.code.as_str(), issue.path.as_str());
        if issue.is_error() {
            tracing::warn!(tool = tool.name.as_str(), code, path, "an argument was refused");
        } else {
            tracing::info!(
                tool = tool.name.as_str(),
                code,
                path,
                "an argument was changed or ignored"
            );
        }
    }
}

/// Tells the model what was changed in its arguments, behind the answer.
fn append(result: &mut ToolResult, warnings: &[Issue]) {
    if warnings.is_empty() {
        return;
    }
    let mut note = String::from("Note on the arguments of this call:");
    list(&mut note, warnings.iter());
    match &mut result.content {
        Content::Text(text) if text.is_empty() => *text = note,
        Content::Text(text) => {
            text.push_str("\n\n");
            text.push_str(&note);
        }
        Content::Blocks(blocks) => blocks.push(crate::message::Block::text(note)),
    }
}
