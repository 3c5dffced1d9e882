//! [`AttemptLimit`], a layer that asks the model to stop after repeated failures of a tool.

use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use tool_runtime::result::Failure;
use tool_runtime::{ToolCall, ToolOutcome};
use tower_layer::Layer;
use tower_service::Service;

/// A layer that counts the consecutive failed attempts of a tool: calls with invalid arguments, and calls that failed
/// with [`ToolError::retry`](tool_runtime::ToolError::retry). At the limit, a note after the result asks the model to
/// stop and report the problem, and a warning is logged with [`tracing`]. The call itself is not stopped. Any other
/// outcome resets the count.
///
/// Attempts are counted by [session](tool_runtime::Context::session) and by the tool's name for the model; calls
/// without a session share one count. Above 10,000 sessions, the session with the oldest failed attempt is dropped.
///
/// ```
/// use tool_builtins::AttemptLimit;
/// use tool_runtime::{ToolError, ToolRegistry, tool};
///
/// /// Reserve a seat.
/// #[tool]
/// async fn reserve() -> Result<u8, ToolError> {
///     Err(ToolError::retry("the booking system is busy"))
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new().layer(AttemptLimit::new(2));
/// registry.register::<reserve>()?;
/// let first = registry.execute_tool("toolu_01", "reserve", "{}").await;
/// let second = registry.execute_tool("toolu_02", "reserve", "{}").await;
/// assert!(!first.text().unwrap().contains("do not call"));
/// assert!(second.text().unwrap().ends_with(
///     "This was attempt 2 in a row that failed: do not call `reserve` again, and tell the user what went wrong."
/// ));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct AttemptLimit {
    limit: u32,
    attempts: Arc<Mutex<Attempts>>,
}

impl AttemptLimit {
    /// Creates a layer that adds a note from the failed attempt number `limit` on. With 0 or 1, every failed attempt gets a note.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            attempts: Arc::default(),
        }
    }

    /// Counts a call, and adds a note after too many failed attempts.
    fn count(&self, session: &str, tool: &str, outcome: &mut ToolOutcome) {
        let failed = matches!(
            outcome.failure,
            Some(Failure::InvalidArguments | Failure::Retryable)
        );
        let attempts = {
            // No panic can leave a partial change, so the value of a poisoned lock is valid.
            let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
            attempts.count(session, tool, failed)
        };
        if !failed || attempts < self.limit {
            return;
        }
        tracing::warn!(session, tool, attempts, "a tool failed too many times in a row");
        outcome.notes.push(format!(
            "This was attempt {attempts} in a row that failed: do not call `{tool}` again, and tell the user what went wrong."
        ));
    }
}

/// Maximum number of counted sessions.
const MAX_SESSIONS: usize = 10_000;

/// Numbers of consecutive failed attempts.
#[derive(Debug, Default)]
struct Attempts {
    sessions: HashMap<Arc<str>, Session>,
    /// Sessions by their last failed attempt.
    order: BTreeMap<u64, Arc<str>>,
    next: u64,
}

#[derive(Debug, Default)]
struct Session {
    /// Key of the session in `order`; `None` without failed attempts.
    last: Option<u64>,
    by_tool: HashMap<String, u32>,
}

impl Attempts {
    /// Counts a failed attempt, and returns the number of consecutive failures.
    fn count(&mut self, session: &str, tool: &str, failed: bool) -> u32 {
        if !failed {
            self.succeed(session, tool);
            return 0;
        }
        let name: Arc<str> = match self.sessions.get_key_value(session) {
            Some((name, _)) => Arc::clone(name),
            None => session.into(),
        };
        let last = self.next;
        self.next += 1;
        let counted = self.sessions.entry(Arc::clone(&name)).or_default();
        if let Some(before) = counted.last.replace(last) {
            self.order.remove(&before);
        }
        self.order.insert(last, name);
        let attempts = counted.by_tool.entry(tool.to_owned()).or_default();
        *attempts = attempts.saturating_add(1);
        let attempts = *attempts;
        if self.sessions.len() > MAX_SESSIONS
            && let Some((_, oldest)) = self.order.pop_first()
        {
            self.sessions.remove(&oldest);
        }
        attempts
    }

    /// Resets the count of a tool.
    fn succeed(&mut self, session: &str, tool: &str) {
        let Some(counted) = self.sessions.get_mut(session) else {
            return;
        };
        counted.by_tool.remove(tool);
        if counted.by_tool.is_empty() {
            if let Some(last) = counted.last {
                self.order.remove(&last);
            }
            self.sessions.remove(session);
        }
    }
}

impl<S> Layer<S> for AttemptLimit {
    type Service = AttemptLimited<S>;

    fn layer(&self, inner: S) -> AttemptLimited<S> {
        AttemptLimited {
            inner,
            layer: self.clone(),
        }
    }
}

/// A service inside an [`AttemptLimit`].
#[derive(Debug, Clone)]
pub struct AttemptLimited<S> {
    inner: S,
    layer: AttemptLimit,
}

impl<S> Service<ToolCall> for AttemptLimited<S>
where
    S: Service<ToolCall, Response = ToolOutcome>,
    S::Future: Send + 'static,
{
    type Response = ToolOutcome;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<ToolOutcome, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, call: ToolCall) -> Self::Future {
        // Calls of unknown tools are not counted, since a model may send any number of unknown names.
        let counted = call.definition().is_some().then(|| {
            let session = call.context.session().unwrap_or_default().to_owned();
            (session, call.qualified_name().to_owned())
        });
        let layer = self.layer.clone();
        let answer = self.inner.call(call);
        Box::pin(async move {
            let mut outcome = answer.await?;
            if let Some((session, tool)) = counted {
                layer.count(&session, &tool, &mut outcome);
            }
            Ok(outcome)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sizes(attempts: &Attempts) -> (usize, usize) {
        (attempts.sessions.len(), attempts.order.len())
    }

    #[test]
    fn counts_attempts_by_session_and_tool() {
        let mut attempts = Attempts::default();
        assert_eq!(attempts.count("a", "read", true), 1);
        assert_eq!(attempts.count("a", "read", true), 2);
        assert_eq!(attempts.count("a", "write", true), 1);
        assert_eq!(attempts.count("b", "read", true), 1);
        assert_eq!(attempts.count("a", "read", false), 0);
        assert_eq!(attempts.count("a", "read", true), 1);
        assert_eq!(attempts.count("a", "write", true), 2);
        assert_eq!(attempts.count("never", "read", false), 0);
    }

    #[test]
    fn drops_the_oldest_session_at_the_limit() {
        let mut attempts = Attempts::default();
        for session in 0..MAX_SESSIONS {
            attempts.count(&session.to_string(), "read", true);
        }
        // Session 0 is no longer the oldest.
        assert_eq!(attempts.count("0", "read", true), 2);
        attempts.count("one more", "read", true);
        assert_eq!(
            (attempts.sessions.len(), attempts.order.len()),
            (MAX_SESSIONS, MAX_SESSIONS)
        );
        assert_eq!(attempts.count("0", "read", true), 3);
        assert_eq!(attempts.count("1", "read", true), 1);
        // A successful call removes its session.
        for session in 0..MAX_SESSIONS {
            attempts.count(&session.to_string(), "read", false);
        }
        assert_eq!(sizes(&attempts), (1, 1));
    }
}
