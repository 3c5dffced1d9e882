//! Failed calls, in a line for the model: the tool, the server, the fact, and advice.

use std::fmt;
use std::time::Duration;

use tool_runtime::ToolOutput;

/// Maximum number of characters of a server's message.
const MESSAGE_CHARS: usize = 1000;
/// Advice after a call that may have had an effect.
const UNKNOWN_EFFECT: &str = "it is not known whether it took effect; find out before you repeat it";

/// HTTP status of a server that does not run a call now, but may do so later.
const TOO_MANY_REQUESTS: u64 = 429;

/// Reason why a call has no result.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Fault {
    /// The server is not running, so the call was not sent.
    NotRunning {
        reason: String,
        since: Duration,
        /// Time up to the next start, if it has not begun.
        next: Option<Duration>,
    },
    /// The client was stopped.
    Stopped,
    /// The server does not read; the call was not sent.
    Busy,
    /// No answer, and no progress.
    TimedOut(Duration),
    /// No answer in spite of progress.
    TookTooLong(Duration),
    /// The server ended before it read the call.
    EndedBefore(String),
    /// The server ended during the call.
    EndedDuring(String),
    /// The server answered with an error.
    Refused { code: i64, message: String },
    /// The URL of the server cannot be reached, so the call was not sent.
    Unreachable(String),
    /// The connection over HTTP ended before the answer.
    Interrupted(String),
    /// The answer was an HTTP status without a message of the protocol.
    Status { status: u64, message: String },
    /// The server refuses the credentials of this program.
    Unauthorized,
    /// The server refuses the credentials that belong to this call.
    #[cfg(feature = "http")]
    CallUnauthorized,
    /// The host has no headers for the call, so the call was not sent.
    #[cfg(feature = "http")]
    NoHeaders(String),
    /// The answer was above the limit.
    TooLarge { answer: String, limit: usize },
    /// The answer was not a result.
    Invalid(String),
    /// The server asks for input, with these requests.
    NeedsInput(String),
    /// The host cancelled the call.
    Cancelled,
}

impl Fault {
    /// Returns the result for the model.
    pub(crate) fn into_output(self, tool: &str, server: &str) -> ToolOutput {
        let text = format!("`{tool}`: the MCP server `{server}` {self}");
        match self {
            Self::NotRunning { .. }
            | Self::Busy
            | Self::EndedBefore(_)
            | Self::Unreachable(_)
            | Self::Status {
                status: TOO_MANY_REQUESTS,
                ..
            } => ToolOutput::retry(text),
            Self::TimedOut(_) | Self::TookTooLong(_) => ToolOutput::timed_out(text),
            _ => ToolOutput::error(text),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotRunning { reason, since, next } => {
                write!(
                    f,
                    "has not been running for {} s ({})",
                    since.as_secs(),
                    line(reason)
                )?;
                match next {
                    Some(next) => write!(f, "; it starts again in {} s", next.as_secs().max(1)),
                    None => f.write_str("; it is starting"),
                }
            }
            Self::Stopped => f.write_str("was stopped; continue without it"),
            Self::Busy => f.write_str("does not read its input, so it was not called"),
            Self::TimedOut(limit) => write!(f, "gave no answer for {} s; {UNKNOWN_EFFECT}", limit.as_secs()),
            Self::TookTooLong(limit) => {
                write!(f, "was not done after {} s; {UNKNOWN_EFFECT}", limit.as_secs())
            }
            Self::EndedBefore(reason) => write!(f, "ended before the call was sent ({})", line(reason)),
            Self::EndedDuring(reason) => {
                write!(f, "ended during the call ({}); {UNKNOWN_EFFECT}", line(reason))
            }
            Self::Refused { code, message } => {
                write!(
                    f,
                    "refused the call: {} (code {code}); change the call, or continue without it",
                    line(message)
                )
            }
            Self::Unreachable(reason) => write!(f, "cannot be reached ({}), so it was not called", line(reason)),
            Self::Interrupted(reason) => {
                write!(f, "did not finish its answer ({}); {UNKNOWN_EFFECT}", line(reason))
            }
            Self::Status { status: 300..=399, message } => {
                write!(f, "answered with {}, but redirects are not followed; continue without it", line(message))
            }
            Self::Status { status: TOO_MANY_REQUESTS, message } => {
                write!(f, "did not run the call: {}", line(message))
            }
            Self::Status { status: 400..=499, message } => {
                write!(f, "refused the call: {}; change the call, or continue without it", line(message))
            }
            Self::Status { message, .. } => write!(f, "answered with {}; {UNKNOWN_EFFECT}", line(message)),
            Self::Unauthorized => f.write_str(
                "refused the credentials of this program (status 401; its operator sets them in `headers_env`); continue without it",
            ),
            #[cfg(feature = "http")]
            Self::CallUnauthorized => f.write_str(
                "refused the credentials of this call (status 401; the user of this program sends them); continue without it",
            ),
            #[cfg(feature = "http")]
            Self::NoHeaders(reason) => write!(f, "was not called: {}", line(reason)),
            Self::TooLarge { answer, limit } => {
                write!(
                    f,
                    "answered with {answer}, above the limit of {limit} bytes; ask for less"
                )
            }
            Self::Invalid(fact) => write!(f, "gave an invalid answer ({}); {UNKNOWN_EFFECT}", line(fact)),
            Self::NeedsInput(requests) => {
                f.write_str("asks for input")?;
                if !requests.is_empty() {
                    write!(f, " ({})", line(requests))?;
                }
                f.write_str(", which this program cannot give; send what it asks for with the arguments, or continue without it")
            }
            Self::Cancelled => write!(
                f,
                "did not answer before the call was cancelled; {UNKNOWN_EFFECT}"
            ),
        }
    }
}

/// Returns the text in one line, of at most [`MESSAGE_CHARS`] characters.
fn line(text: &str) -> String {
    let mut line: Vec<char> = text
        .trim()
        .chars()
        .map(|character| if character.is_control() { ' ' } else { character })
        .take(MESSAGE_CHARS + 1)
        .collect();
    if line.len() > MESSAGE_CHARS {
        line.truncate(MESSAGE_CHARS - 1);
        line.push('…');
    }
    line.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(fault: Fault) -> String {
        let output = fault.into_output("git_log", "git");
        assert!(output.is_error);
        match output.content {
            tool_runtime::result::Content::Text(text) => text,
            content @ tool_runtime::result::Content::Blocks(_) => panic!("{content:?}"),
        }
    }

    #[test]
    fn names_tool_server_fact_and_advice() {
        let seconds = Duration::from_secs;
        let not_running = |next| Fault::NotRunning {
            reason: "exit status: 1".to_owned(),
            since: seconds(12),
            next,
        };
        let retry = "\n\nThis may succeed when it is tried again.";
        let effect = UNKNOWN_EFFECT;
        for (fault, wanted) in [
            (
                not_running(Some(seconds(3))),
                format!("has not been running for 12 s (exit status: 1); it starts again in 3 s{retry}"),
            ),
            (
                not_running(None),
                format!("has not been running for 12 s (exit status: 1); it is starting{retry}"),
            ),
            (Fault::Stopped, "was stopped; continue without it".to_owned()),
            (
                Fault::Busy,
                format!("does not read its input, so it was not called{retry}"),
            ),
            (
                Fault::TimedOut(seconds(60)),
                format!("gave no answer for 60 s; {effect}"),
            ),
            (
                Fault::TookTooLong(seconds(600)),
                format!("was not done after 600 s; {effect}"),
            ),
            (
                Fault::EndedDuring("exit status: 1".to_owned()),
                format!("ended during the call (exit status: 1); {effect}"),
            ),
            (
                Fault::Refused {
                    code: -32602,
                    message: "no\nsuch tool".to_owned(),
                },
                "refused the call: no such tool (code -32602); change the call, or continue without it"
                    .to_owned(),
            ),
            (
                Fault::TooLarge {
                    answer: "20000 bytes".to_owned(),
                    limit: 10_000,
                },
                "answered with 20000 bytes, above the limit of 10000 bytes; ask for less".to_owned(),
            ),
        ] {
            assert_eq!(text(fault), format!("`git_log`: the MCP server `git` {wanted}"));
        }
    }

    #[test]
    fn cuts_messages_of_the_server() {
        let refused = |chars: usize| {
            let message = "é".repeat(chars);
            text(Fault::Refused { code: 1, message }).matches('é').count()
        };
        assert_eq!((refused(1000), refused(1001), refused(5000)), (1000, 999, 999));
    }
}
