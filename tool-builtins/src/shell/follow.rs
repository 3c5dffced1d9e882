//! Tool `BashOutput`: reads the new output of a background command.

use std::fmt::Write as _;
use std::io;

use regex_lite::RegexBuilder;
use tool_runtime::{CancellationToken, Context, State, ToolError, tool};

use super::command::CommandState;
use super::run::continuing;
use super::state::Shell;

/// Maximum size of a compiled filter in bytes. The time of a search is the product of this size and of the output's, of which a call
/// filters at most 256 KiB.
const MAX_FILTER: usize = 32 << 10;

/// Read the output of a background command since the last call of this tool, and the state of the command.
#[tool(name = "BashOutput", read_only, blocking)]
#[allow(clippy::needless_pass_by_value, reason = "the arguments of a tool are values")]
pub fn bash_output(
    /// Id of the command, such as "bash_1".
    bash_id: String,
    /// Regular expression. Only lines that match are returned; the other new lines cannot be read later.
    #[arg(length = ..=500)]
    filter: Option<String>,
    shell: State<Shell>,
    context: Context,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    let background = shell.background(context.session(), &bash_id)?;
    let filter = filter.filter(|filter| !filter.is_empty());
    let filter = filter.map(|filter| RegexBuilder::new(&filter).size_limit(MAX_FILTER).build());
    let filter = filter.transpose().map_err(|error| {
        ToolError::new(
            "invalid_pattern",
            format_args!("{error}; write a backslash before literal special characters"),
        )
    })?;
    // The state is read first: the output of an ended command is complete.
    let state = describe(&background.command.state());
    let read = match filter {
        None => background.read_new(None),
        Some(filter) => background.read_new(Some(&|line| {
            if cancel.is_cancelled() {
                return Err(io::Error::other("the call was stopped"));
            }
            Ok(filter.is_match(line))
        })),
    };
    let (excerpt, rest) = read.map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => ToolError::new(
            "busy",
            format_args!("another call reads the output of {bash_id}; wait for its answer"),
        ),
        _ => not_read(&error),
    })?;
    let output = if excerpt.text.is_empty() {
        "(no new output)"
    } else {
        &excerpt.text
    };
    let mut answer = format!("state: {state}\n{output}");
    if rest > 0 {
        let _ = write!(
            answer,
            "\n[{rest} bytes of new output were not filtered yet; call BashOutput again]"
        );
    }
    Ok(answer)
}

fn not_read(error: &io::Error) -> ToolError {
    ToolError::new("io", format_args!("the output cannot be read: {error}"))
}

/// Describes the state of a background command for the model.
pub(super) fn describe(state: &CommandState) -> String {
    match state {
        CommandState::Starting | CommandState::Running => "running".to_owned(),
        CommandState::Failed(error) => format!("not started: {error}"),
        CommandState::Ended(ended) if ended.remaining.is_empty() => ended.end.to_string(),
        CommandState::Ended(ended) => format!("{}; {}", ended.end, continuing(&ended.remaining)),
    }
}
