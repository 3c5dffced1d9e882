//! [`Audit`]: a log line for each call of a tool that touches the machine.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use serde_json::Value;
use tool_runtime::layer::{BoxError, ToolService};
use tool_runtime::result::Failure;
use tool_runtime::{ToolCall, ToolCallRequest, ToolOutcome};
use tower_layer::Layer;
use tower_service::Service;

use crate::session::principal::Principal;

/// Built-in tools that read or change files, or run commands.
pub(crate) const MACHINE_TOOLS: [&str; 10] = [
    "Read",
    "Write",
    "Edit",
    "MultiEdit",
    "LS",
    "Glob",
    "Grep",
    "Bash",
    "BashOutput",
    "KillShell",
];

/// Arguments that name a file, a folder or a background command.
const SUBJECTS: [&str; 4] = ["file_path", "path", "bash_id", "shell_id"];

/// Layer that logs the calls of built-in tools that touch the machine: client, session, tool, path or digest of the command, and outcome.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Audit;

/// Service of [`Audit`].
#[derive(Debug, Clone)]
pub(crate) struct Audited {
    inner: ToolService,
}

impl Layer<ToolService> for Audit {
    type Service = Audited;

    fn layer(&self, inner: ToolService) -> Audited {
        Audited { inner }
    }
}

impl Service<ToolCall> for Audited {
    type Response = ToolOutcome;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, BoxError>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        if !MACHINE_TOOLS.contains(&call.name.as_str()) {
            return self.inner.call(call);
        }
        let written = AuditLine::new(&call);
        let called = self.inner.call(call);
        Box::pin(async move {
            let mut line = written;
            let outcome = called.await;
            line.outcome = match &outcome {
                Ok(outcome) => outcome.failure.map_or("ok", Failure::as_str),
                Err(_) => Failure::Layer.as_str(),
            };
            outcome
        })
    }
}

/// Log line of a call, which is written at its end, also if the call is dropped.
struct AuditLine {
    /// Name of the client's key; empty without one, since the digest of a credential means nothing to the operator.
    client: String,
    session: String,
    tool: String,
    /// Path, id of a background command, or digest of the command.
    subject: String,
    outcome: &'static str,
}

impl AuditLine {
    fn new(call: &ToolCall) -> Self {
        let client = call
            .context
            .extension::<Principal>()
            .and_then(Principal::key_name);
        Self {
            client: client.unwrap_or_default().to_owned(),
            session: call.context.session().unwrap_or_default().to_owned(),
            tool: call.name.clone(),
            subject: call.prepare().as_ref().map(subject).unwrap_or_default(),
            outcome: Failure::Cancelled.as_str(),
        }
    }
}

impl Drop for AuditLine {
    fn drop(&mut self) {
        tracing::info!(
            client = self.client,
            session = self.session,
            tool = self.tool,
            subject = self.subject,
            outcome = self.outcome,
            "a tool touched the machine"
        );
    }
}

/// Returns the subject of a call, after coercion of its arguments. A command may contain keys, so only its digest is logged.
fn subject(request: &ToolCallRequest) -> String {
    let text = |name: &str| request.argument(name).and_then(Value::as_str);
    if let Some(command) = text("command") {
        let digest = blake3::hash(command.as_bytes()).to_hex();
        return format!("blake3 {}", digest.get(..32).unwrap_or_default());
    }
    SUBJECTS.into_iter().find_map(text).unwrap_or_default().to_owned()
}
