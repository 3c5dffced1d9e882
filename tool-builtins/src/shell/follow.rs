//! Tool `BashOutput`: reads the new output of a background command.

use regex_lite::RegexBuilder;
use tool_runtime::{Context, State, ToolError, tool};

use super::command::CommandState;
use super::run::continuing;
use super::state::{Shell, blocking, not_started};

/// Maximum size of a compiled filter in bytes. The time of a search is the product of this size and of the output's, which is at most 4 MiB.
const MAX_FILTER: usize = 32 << 10;

/// Read the output of a background command since the last call of this tool, and the state of the command.
#[tool(name = "BashOutput", read_only)]
pub async fn bash_output(
    /// Id of the command, such as "bash_1".
    bash_id: String,
    /// Regular expression. Only lines that match are returned; the other new lines cannot be read later.
    #[arg(length = ..=500)]
    filter: Option<String>,
    shell: State<Shell>,
    context: Context,
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
    let excerpt = blocking(move || match filter {
        None => background.read_new(None),
        Some(filter) => background.read_new(Some(&|line| filter.is_match(line))),
    });
    let excerpt = excerpt.await?.map_err(not_started)?;
    let output = if excerpt.text.is_empty() {
        "(no new output)"
    } else {
        &excerpt.text
    };
    Ok(format!("state: {state}\n{output}"))
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
