//! `Grep`: lines, files and numbers of matches of a regular expression.

// A module uses only modules that are declared before it.
mod query;
mod search_end;
mod file_matches;
mod search;
mod answer;

use std::time::{Duration, Instant};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tool_runtime::{CancellationToken, SessionState, State, ToolError, tool};

use self::answer::GrepAnswer;
use self::file_matches::{ResultPage, Wanted};
use self::query::{FileFilter, PatternOptions, compile};
use self::search::GrepSearch;
use crate::workspace::error::ErrorCode;
use crate::workspace::{SeenFiles, Workspace};

/// Form of the answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum OutputMode {
    /// Matching lines.
    Content,
    /// Paths of files with a match, newest first.
    FilesWithMatches,
    /// Number of matching lines of each file.
    Count,
}

/// Search files for a regular expression (Rust syntax: no look-around; escape braces in code). Ignored and binary files and folders of version control
/// are left out; hidden files are searched. Answers are pages: `offset` continues.
#[tool(name = "Grep", read_only, blocking)]
#[allow(
    clippy::too_many_arguments,
    clippy::fn_params_excessive_bools,
    reason = "the parameters of models, and three of the host"
)]
pub fn grep(
    /// The regular expression.
    #[arg(length = 1..)]
    pattern: String,
    /// File or folder to search: absolute, or relative to the workspace, which is the default.
    path: Option<String>,
    /// Glob of the searched files, such as `*.js` or `src/**`; `!` before a glob excludes.
    glob: Option<String>,
    /// Type of the searched files, such as `js`, `py` or `rust`.
    #[arg(name = "type")]
    file_type: Option<String>,
    /// Form of the answer.
    #[arg(default = OutputMode::FilesWithMatches)]
    output_mode: OutputMode,
    /// Lines after each match, in `content`.
    #[arg(name = "-A", range = 0..=1_000)]
    after: Option<usize>,
    /// Lines before each match, in `content`.
    #[arg(name = "-B", range = 0..=1_000)]
    before: Option<usize>,
    /// Lines before and after each match, in `content`.
    #[arg(name = "-C", range = 0..=1_000)]
    surroundings: Option<usize>,
    /// Equal to `-C`.
    #[arg(range = 0..=1_000)]
    context: Option<usize>,
    /// Show line numbers, in `content`.
    #[arg(name = "-n", default = true)]
    line_numbers: bool,
    /// Ignore the letters' case.
    #[arg(name = "-i", default = false)]
    ignore_case: bool,
    /// Show only the matches of each line, in `content`.
    #[arg(name = "-o", default = false)]
    only_matching: bool,
    /// Let matches have several lines; `.` then matches line ends, too.
    #[arg(default = false)]
    multiline: bool,
    /// Lines or files of the answer; 0 for as many as possible.
    #[arg(default = 250_usize)]
    head_limit: usize,
    /// Lines or files to skip.
    #[arg(default = 0_usize)]
    offset: usize,
    workspace: State<Workspace>,
    seen: SessionState<SeenFiles>,
    cancel: CancellationToken,
) -> Result<String, ToolError> {
    if surroundings.is_some() && context.is_some() {
        return Err(ErrorCode::InvalidPattern.error("`-C` and `context` are the same; send one of them"));
    }
    let both = surroundings.or(context).unwrap_or_default();
    let options = PatternOptions {
        ignores_case: ignore_case,
        is_multiline: multiline,
    };
    let place = workspace.find(path.as_deref().unwrap_or("."))?;
    let limits = workspace.limits();
    let wanted = match output_mode {
        OutputMode::Content => Wanted::Lines {
            only_matches: only_matching,
        },
        OutputMode::FilesWithMatches => Wanted::Match,
        OutputMode::Count => Wanted::Count {
            by_match: only_matching,
        },
    };
    let page = ResultPage {
        offset,
        limit: if head_limit == 0 {
            limits.found_lines
        } else {
            head_limit.min(limits.found_lines)
        },
    };
    let mut search = GrepSearch {
        workspace: &workspace,
        place: &place,
        matcher: compile(&pattern, options)?,
        options,
        before: before.unwrap_or(both),
        after: after.unwrap_or(both),
        filter: FileFilter::new(glob.as_deref(), file_type.as_deref())?,
        wanted,
        deadline: Instant::now() + Duration::from_secs(limits.search_seconds),
        cancel: &cancel,
    };
    let found = search.run(page)?;
    let answer = GrepAnswer {
        workspace: &workspace,
        place: &place,
        found: &found,
        page,
        has_context: search.before + search.after > 0,
        line_numbers,
    };
    let shown = match output_mode {
        _ if found.files.is_empty() => return Ok(answer.nothing(&pattern, || search.literal_files(&pattern))),
        OutputMode::Content => answer.content(),
        OutputMode::FilesWithMatches => answer.paths(),
        OutputMode::Count => answer.counts(),
    };
    if output_mode == OutputMode::Content && !only_matching {
        answer.record(&shown, &mut seen.lock());
    }
    Ok(shown.text)
}
