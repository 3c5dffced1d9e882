//! One call from its arrival to its outcome, alone: whatever a tool does, it takes nothing else down.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::call::ToolCall;
use crate::host::Host;
use crate::issue::Issue;
use crate::registry::{Core, RegisteredTool};
use crate::result::{Failure, ToolOutcome, ToolOutput, ToolResult};
use crate::tool::{Call, Handled};

/// Finds the tool, reads the arguments, runs the function.
pub(crate) async fn run(core: &Core, call: ToolCall) -> ToolOutcome {
    let ToolCall {
        id,
        name,
        input,
        context,
        policy,
    } = call;
    let Some(tool) = core.tool(&name) else {
        // The text is seed 000's, F-007.
        return failed(id, Failure::NotFound, format!("Tool '{name}' not found"));
    };
    let policy = policy.or(tool.policy).unwrap_or(core.policy);
    let handled = catch_unwind(AssertUnwindSafe(|| {
        (tool.handler)(Call {
            shape: &tool.shape,
            input,
            policy,
            host: Host::new(&core.states, &context),
        })
    }));
    match handled {
        Ok(Handled::Refused(issues)) => refused(id, tool, issues),
        Ok(Handled::Started(started)) => {
            let output = started.future.await;
            let mut outcome = ToolOutcome::new(ToolResult::new(id, output));
            outcome.failure = outcome.result.is_error.then_some(Failure::Failed);
            outcome.warnings = started.warnings;
            outcome
        }
        Err(_) => failed(id, Failure::Panicked, format!("the tool `{name}` panicked")),
    }
}

fn failed(id: String, failure: Failure, text: String) -> ToolOutcome {
    let mut outcome = ToolOutcome::new(ToolResult::new(id, ToolOutput::error(text)));
    outcome.failure = Some(failure);
    outcome
}

fn refused(id: String, tool: &RegisteredTool, issues: Vec<Issue>) -> ToolOutcome {
    let (errors, warnings): (Vec<_>, Vec<_>) = issues.into_iter().partition(Issue::is_error);
    let text = match tool.wording {
        Some(wording) => wording(&errors),
        None => explain(tool, &errors),
    };
    let mut outcome = failed(id, Failure::InvalidArguments, text);
    outcome.errors = errors;
    outcome.warnings = warnings;
    outcome
}

/// What the model reads when its arguments were refused: every error, a line each.
fn explain(tool: &RegisteredTool, errors: &[Issue]) -> String {
    let mut text = format!("`{}` was not called, its arguments need correction:", tool.name);
    for error in errors {
        // Writing to a string cannot fail.
        let _ = write!(text, "\n- {error}");
    }
    text
}
