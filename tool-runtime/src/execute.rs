//! One call from its arrival to its outcome, alone: whatever a tool does, it takes nothing else down.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context as Waking, Poll};
use std::time::{Duration, Instant};

use tracing::field::Empty;
use tracing::{Instrument as _, Span};

use crate::call::{Handed, ToolCall};
use crate::context::{CancelOnDrop, CancellationToken, Context};
use crate::explain;
use crate::host::Host;
use crate::isolate;
use crate::issue::{self, Issue};
use crate::policy::Policy;
use crate::registered::RegisteredTool;
use crate::result::{Failure, ToolOutcome, ToolOutput, ToolResult};
use crate::tool::{Call, Handled};
use crate::tools::Tools;

/// A call that is made: what the tool needs is borrowed, the id goes into the answer, given arguments are used up.
#[derive(Debug)]
pub(crate) struct Request<'a> {
    pub(crate) id: String,
    pub(crate) name: &'a str,
    pub(crate) input: Handed<'a>,
    pub(crate) context: &'a Context,
    pub(crate) policy: Option<Policy>,
}

impl<'a> Request<'a> {
    /// Takes the id and the arguments out of the call.
    pub(crate) fn of(call: &'a mut ToolCall) -> Self {
        Self {
            id: std::mem::take(&mut call.id),
            name: &call.name,
            input: call.input.give(),
            context: &call.context,
            policy: call.policy,
        }
    }
}

/// Named as OpenTelemetry's `GenAI` conventions say; neither arguments nor results are in it.
pub(crate) fn span(name: &str, id: &str) -> Span {
    tracing::info_span!(
        "execute_tool",
        otel.name = %format_args!("execute_tool {name}"),
        gen_ai.operation.name = "execute_tool",
        gen_ai.tool.name = %name,
        gen_ai.tool.call.id = %id,
        gen_ai.tool.r#type = "function",
        error.r#type = Empty,
    )
}

/// Runs a call within a span that learns how it ended.
pub(crate) async fn within(span: Span, run: impl Future<Output = ToolOutcome>) -> ToolOutcome {
    let outcome = run.instrument(span.clone()).await;
    if let Some(failure) = outcome.failure {
        span.record("error.type", failure.as_str());
    }
    outcome
}

/// As [`run`], within a span of its own where anybody looks at that.
pub(crate) async fn watched(tools: &Tools, request: Request<'_>) -> ToolOutcome {
    let span = span(request.name, &request.id);
    if span.is_disabled() {
        return run(tools, request).await;
    }
    Box::pin(within(span, run(tools, request))).await
}

/// Finds the tool, reads the arguments, runs the function.
pub(crate) async fn run(tools: &Tools, request: Request<'_>) -> ToolOutcome {
    let mut execution = Execution::new(tools, request);
    (&mut execution).await
}

/// A call on its way to its outcome.
pub(crate) struct Execution<'a> {
    tools: &'a Tools,
    request: Request<'a>,
    /// Where it goes on once the function was started.
    running: Option<Running<'a>>,
}

/// A function that was started and has not answered yet.
struct Running<'a> {
    tool: &'a RegisteredTool,
    warnings: Vec<Issue>,
    way: Way<'a>,
}

impl<'a> Execution<'a> {
    pub(crate) fn new(tools: &'a Tools, request: Request<'a>) -> Self {
        Self {
            tools,
            request,
            running: None,
        }
    }

    /// The answer alone.
    pub(crate) fn answer(&mut self) -> impl Future<Output = ToolResult> {
        Answer(self)
    }

    /// Finds the tool, reads the arguments, starts the function.
    fn begin(&mut self, waking: &mut Waking<'_>) -> Poll<ToolOutcome> {
        let Self {
            tools,
            request:
                Request {
                    id,
                    name,
                    input,
                    context,
                    policy,
                },
            running,
        } = self;
        let mut id = || std::mem::take(id);
        let Some(tool) = tools.tool(name) else {
            return Poll::Ready(not_found(tools, id(), name));
        };
        let deadline = deadline(context, tool.timeout);
        if let Some(failure) = over_beforehand(context, deadline) {
            return Poll::Ready(failed(id(), failure, &explain::not_started(name, failure)));
        }
        let is_watched = deadline.is_some() || context.canceller().is_some();
        let mut call = Call {
            tool: tool.name.as_str(),
            shape: &tool.shape,
            input: input.reborrow(),
            policy: tools.policy_of(tool, *policy),
            host: Host::new(&tools.states, context, deadline),
            waiting: (!is_watched).then_some(waking.waker()),
            issues: Vec::new(),
        };
        match isolate::call(|| (tool.handler)(&mut call)) {
            Ok(Handled::Answered(output)) => {
                let mut outcome = finished(id(), output);
                warn(tools, &mut outcome, call.issues);
                Poll::Ready(outcome)
            }
            Ok(Handled::Started(started)) => {
                let way = Way::of(started.future, context, deadline, started.guard);
                *running = Some(Running {
                    tool,
                    warnings: call.issues,
                    way,
                });
                // What is watched is so from its first poll on.
                if is_watched {
                    self.go_on(waking)
                } else {
                    Poll::Pending
                }
            }
            Ok(Handled::Refused) => Poll::Ready(refused(id(), tool, call.issues)),
            Err(failure) => {
                let mut outcome = failed_in(tool, id(), failure);
                warn(tools, &mut outcome, call.issues);
                Poll::Ready(outcome)
            }
        }
    }

    /// Polls the function.
    fn go_on(&mut self, waking: &mut Waking<'_>) -> Poll<ToolOutcome> {
        let Some(Running { tool, warnings, way }) = &mut self.running else {
            return Poll::Pending;
        };
        let Poll::Ready(ended) = (match way {
            Way::ToTheEnd(body, _) => body.poll(waking).map(isolate::Ended::by_itself),
            Way::ToAStop(future) => future.as_mut().poll(waking),
        }) else {
            return Poll::Pending;
        };
        let id = std::mem::take(&mut self.request.id);
        let mut outcome = match ended.output {
            Ok(output) => finished(id, output),
            Err(failure) => failed_in(tool, id, failure),
        };
        if ended.stopped.is_some() {
            outcome.failure = ended.stopped;
        }
        warn(self.tools, &mut outcome, std::mem::take(warnings));
        Poll::Ready(outcome)
    }
}

impl Future for Execution<'_> {
    type Output = ToolOutcome;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<ToolOutcome> {
        match self.running {
            None => self.begin(waking),
            Some(_) => self.go_on(waking),
        }
    }
}

/// The same, for whoever wants nothing but the answer.
struct Answer<'e, 'a>(&'e mut Execution<'a>);

impl Future for Answer<'_, '_> {
    type Output = ToolResult;

    // A `map` would move the whole outcome first.
    #[inline]
    fn poll(mut self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<ToolResult> {
        match Pin::new(&mut *self.0).poll(waking) {
            Poll::Ready(outcome) if !outcome.notes.is_empty() => Poll::Ready(outcome.into_result()),
            Poll::Ready(ToolOutcome { result, .. }) => Poll::Ready(result),
            Poll::Pending => Poll::Pending,
        }
    }
}

/// How far a function may go.
enum Way<'a> {
    /// Nothing ends it before it ends by itself. The guard tells whoever listens when nobody waits any more.
    ToTheEnd(
        isolate::Body<ToolOutput>,
        #[expect(dead_code, reason = "its drop counts")] Option<CancelOnDrop>,
    ),
    /// To its deadline, or until it is cancelled.
    ToAStop(Pin<Box<dyn Future<Output = isolate::Ended<ToolOutput>> + Send + 'a>>),
}

impl<'a> Way<'a> {
    fn of(
        future: isolate::Boxed<ToolOutput>,
        context: &'a Context,
        deadline: Option<Instant>,
        guard: Option<CancelOnDrop>,
    ) -> Self {
        if deadline.is_none() && context.canceller().is_none() {
            return Self::ToTheEnd(isolate::Body::new(future), guard);
        }
        let stop = isolate::Stop {
            deadline,
            token: context.canceller(),
            // Who does not listen has nothing to tidy up by himself.
            grace: guard.as_ref().map_or(Duration::ZERO, |_| isolate::GRACE),
            tell: guard,
        };
        Self::ToAStop(Box::pin(isolate::run(future, stop)))
    }
}

/// Adds what was noticed about the arguments, if anything was.
#[inline]
fn warn(tools: &Tools, outcome: &mut ToolOutcome, warnings: Vec<Issue>) {
    if !warnings.is_empty() {
        warn_of(tools, outcome, warnings);
    }
}

#[cold]
fn warn_of(tools: &Tools, outcome: &mut ToolOutcome, warnings: Vec<Issue>) {
    if tools.warnings_in_results {
        outcome.notes.push(explain::note(&warnings));
    }
    outcome.warnings = warnings;
}

fn finished(id: String, output: ToolOutput) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(ToolResult::new(id, output));
    outcome.failure = outcome.result.is_error.then_some(Failure::Failed);
    outcome
}

/// The earlier of the context's deadline and the tool's own.
fn deadline(context: &Context, timeout: Option<Duration>) -> Option<Instant> {
    let own = timeout.and_then(|timeout| Instant::now().checked_add(timeout));
    [context.deadline(), own].into_iter().flatten().min()
}

/// Why a call is not even started.
fn over_beforehand(context: &Context, deadline: Option<Instant>) -> Option<Failure> {
    if context.canceller().is_some_and(CancellationToken::is_cancelled) {
        return Some(Failure::Cancelled);
    }
    let is_late = deadline.is_some_and(|deadline| deadline <= Instant::now());
    is_late.then_some(Failure::TimedOut)
}

/// A failure with a text for the model; also what a batch and the layers answer with.
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

/// The same, when the function gave no answer of its own.
fn failed_in(tool: &RegisteredTool, id: String, failure: Failure) -> ToolOutcome {
    failed(id, failure, &explain::failure(tool.name.as_str(), failure))
}

fn refused(id: String, tool: &RegisteredTool, issues: Vec<Issue>) -> ToolOutcome {
    issue::log(tool.name.as_str(), &issues);
    let (errors, warnings): (Vec<_>, Vec<_>) = issues.into_iter().partition(Issue::is_error);
    let worded = match tool.wording {
        Some(wording) => isolate::call(|| wording(&errors)),
        None => Ok(explain::errors(tool.name.as_str(), &errors, &warnings)),
    };
    let text = worded.unwrap_or_else(|failure| explain::failure(tool.name.as_str(), failure));
    let mut outcome = failed(id, Failure::InvalidArguments, &text);
    outcome.errors = errors;
    outcome.warnings = warnings;
    outcome
}
