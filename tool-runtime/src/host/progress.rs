//! [`Progress`]: reports of a running function.

use std::fmt;
use std::sync::{Arc, Weak};

use tokio::sync::watch;

/// Reports the progress of a call to the host.
///
/// The host supplies a parameter of this type; the definition does not contain it. Reporting never waits, and costs
/// almost nothing without a listener: the message is not even formatted. The host listens with
/// [`Context::with_progress`](crate::Context::with_progress) and sees the latest report; unread earlier reports are
/// dropped. The channel closes when the call has ended and the host has dropped its own clones of the context, even if
/// a thread or a task of the function keeps the parameter: reports after that have no effect.
///
/// ```
/// use tokio::sync::watch;
/// use tool_runtime::{Context, Progress, ProgressReport, ToolCall, ToolRegistry, tool};
///
/// /// Scan a book.
/// #[tool]
/// async fn scan(
///     /// Number of pages of the book.
///     pages: u64,
///     progress: Progress,
/// ) -> u64 {
///     for page in 1..=pages {
///         progress.report(page, pages, format_args!("page {page}"));
///         // ..
///     }
///     pages
/// }
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), tool_runtime::RegistryError> {
/// let mut registry = ToolRegistry::new();
/// registry.register::<scan>()?;
/// let (sender, latest) = watch::channel(ProgressReport::default());
/// let context = Context::new().with_progress(sender);
/// registry.call(ToolCall::new("toolu_01", "scan", r#"{ "pages": 3 }"#).with_context(context)).await;
/// assert_eq!(latest.borrow().to_string(), "3 of 3: page 3");
///
/// // A direct call, as in a test: no host listens.
/// assert_eq!(scan(2, Progress::default()).await, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct Progress(Channel);

#[derive(Debug, Clone, Default)]
enum Channel {
    #[default]
    None,
    /// The channel in contexts of the host and its layers: open as long as one of these contexts exists.
    Open(Arc<watch::Sender<ProgressReport>>),
    /// Weak reference to the sender, for a function: a thread or a task may outlive the call, and must not keep the
    /// channel open.
    OfCall(Weak<watch::Sender<ProgressReport>>),
}

impl Progress {
    pub(crate) fn new(sender: watch::Sender<ProgressReport>) -> Self {
        Self(Channel::Open(Arc::new(sender)))
    }

    /// Returns a reporter with a weak reference to the sender, which does not keep the channel open.
    pub(crate) fn for_call(&self) -> Self {
        match &self.0 {
            Channel::Open(sender) => Self(Channel::OfCall(Arc::downgrade(sender))),
            other => Self(other.clone()),
        }
    }

    /// Reports progress: `done` of `total`, in any unit, and the current step. An unknown total is `None`.
    pub fn report(&self, done: u64, total: impl Into<Option<u64>>, message: impl fmt::Display) {
        self.send(|| ProgressReport {
            done,
            total: total.into(),
            message: message.to_string(),
        });
    }

    /// Reports progress in floating-point numbers, as MCP servers send it. Numbers with a fraction become percent
    /// if the total is known, and otherwise the next lower integer. A NaN or negative `done` counts as 0; a total that is
    /// not a positive finite number counts as unknown.
    ///
    /// ```
    /// use tokio::sync::watch;
    /// use tool_runtime::{Context, ProgressReport};
    ///
    /// let (sender, latest) = watch::channel(ProgressReport::default());
    /// let context = Context::new().with_progress(sender);
    /// context.progress().report_fraction(0.25, 1.0, "page 1");
    /// assert_eq!(latest.borrow().to_string(), "25 of 100: page 1");
    /// context.progress().report_fraction(3.0, 12.0, "page 3");
    /// assert_eq!(latest.borrow().to_string(), "3 of 12: page 3");
    /// ```
    pub fn report_fraction(&self, done: f64, total: impl Into<Option<f64>>, message: impl fmt::Display) {
        self.send(|| {
            let (done, total) = integers(done, total.into());
            let message = message.to_string();
            ProgressReport { done, total, message }
        });
    }

    /// Sends a report, which is not even created if nothing listens.
    fn send(&self, report: impl FnOnce() -> ProgressReport) {
        let upgraded;
        let sender = match &self.0 {
            Channel::None => return,
            Channel::Open(sender) => sender,
            Channel::OfCall(sender) => match sender.upgrade() {
                Some(sender) => {
                    upgraded = sender;
                    &upgraded
                }
                None => return,
            },
        };
        if !sender.is_closed() {
            sender.send_replace(report());
        }
    }
}

/// Converts floating-point progress to integers: unchanged, as percent of a known total, or rounded down.
fn integers(done: f64, total: Option<f64>) -> (u64, Option<u64>) {
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the conversion saturates, and NaN becomes 0"
    )]
    let integer = |number: f64| number as u64;
    match total.filter(|total| *total > 0.0 && total.is_finite()) {
        Some(total) if done.fract() != 0.0 || total.fract() != 0.0 => {
            (integer((done / total * 100.0).round()), Some(100))
        }
        total => (integer(done), total.map(integer)),
    }
}

/// Latest report of a function. Before the first report, `done` is 0 and `total` is `None`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ProgressReport {
    /// Completed amount.
    pub done: u64,
    /// Total amount, if it is known.
    pub total: Option<u64>,
    /// Current step.
    pub message: String,
}

/// Displays `3 of 10: message`, for people.
impl fmt::Display for ProgressReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.done)?;
        if let Some(total) = self.total {
            write!(f, " of {total}")?;
        }
        if !self.message.is_empty() {
            write!(f, ": {}", self.message)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::integers;

    #[test]
    fn fractions_become_percent_of_a_known_total() {
        let table = [
            (0.5, Some(1.0), (50, Some(100))),
            (0.29, Some(1.0), (29, Some(100))),
            (1.0, Some(1.0), (1, Some(1))),
            (2.5, Some(10.0), (25, Some(100))),
            (1.0, Some(2.5), (40, Some(100))),
            (12.0, Some(10.0), (12, Some(10))),
            (3.7, None, (3, None)),
            (0.5, Some(0.0), (0, None)),
            (1e300, Some(1e300), (u64::MAX, Some(u64::MAX))),
            (-1.5, Some(3.0), (0, Some(100))),
            (f64::NAN, Some(4.0), (0, Some(100))),
            (f64::INFINITY, None, (u64::MAX, None)),
            (2.0, Some(f64::NAN), (2, None)),
            (2.0, Some(f64::INFINITY), (2, None)),
        ];
        for (done, total, expected) in table {
            assert_eq!(integers(done, total), expected, "{done} of {total:?}");
        }
    }
}
