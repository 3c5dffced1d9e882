//! Messages of edits that were not applied.

use tool_runtime::ToolError;

use super::apply::{Applied, Inexact, MAX_REPLACEMENTS, Refused, Rejection};
use super::diagnosis::Diagnosis;
use super::inexact::Rule;
use super::replacement::Replacement;
use crate::workspace::error::ErrorCode;
use crate::workspace::lines::{Lines, View};

/// Maximum number of lines that a message names.
const NAMED_LINES: usize = 20;

impl Replacement<'_> {
    /// Applies the edit to the text of a file.
    pub(crate) fn apply_to(&self, text: &str, inexact: Inexact, path: &str) -> Result<Applied, ToolError> {
        self.apply(text, inexact)
            .map_err(|rejection| rejection.into_error(path, text, self, inexact))
    }
}

impl Rejection {
    /// Returns the error for the model.
    fn into_error(
        self,
        path: &str,
        text: &str,
        replacement: &Replacement<'_>,
        inexact: Inexact,
    ) -> ToolError {
        if inexact == Inexact::Changed && !matches!(self, Self::NoChange | Self::Blank) {
            return ErrorCode::Changed.error(format_args!(
                "`{path}` was changed since it was read, and old_string is not exactly once in it; read the file again"
            ));
        }
        match self {
            Self::NoChange => ErrorCode::NoChange.error(format_args!(
                "old_string and new_string are equal, so `{path}` would not change"
            )),
            Self::Blank => ErrorCode::NoMatch.error(format_args!(
                "old_string has only blanks, which fit everywhere; quote a line of `{path}` beside the blanks, too"
            )),
            Self::Several {
                lines,
                has_more,
                rule,
            } => several(path, &lines, has_more, &rule),
            Self::Inexact { line, rule, reason } => inexact_error(path, line, &rule, reason),
            Self::TooMany => ErrorCode::TooLarge.error(format_args!(
                "old_string is more than {MAX_REPLACEMENTS} times in `{path}`; nothing was changed: replace a longer text, or use another \
                 program"
            )),
            Self::TooLarge { bytes } => ErrorCode::TooLarge.error(format_args!(
                "`{path}` would have {bytes} bytes after the edit; expected at most {}; nothing was changed",
                replacement.max_bytes
            )),
            Self::Missing => {
                let view = View::new(text);
                let lines = Lines::new(text);
                let texts = replacement.texts(&view.text);
                let diagnosis = Diagnosis {
                    view: &view.text,
                    lines: &lines,
                    old: &texts.old,
                    new: &texts.new,
                };
                ErrorCode::NoMatch.error(format_args!("`{path}` was not changed: {}", diagnosis.explain()))
            }
        }
    }
}

fn several(path: &str, lines: &[usize], has_more: bool, rule: &Rule) -> ToolError {
    let count = lines.len();
    let named: Vec<String> = lines.iter().take(NAMED_LINES).map(usize::to_string).collect();
    let more = if count > NAMED_LINES { " …" } else { "" };
    let least = if has_more { "at least " } else { "" };
    let difference = match rule {
        Rule::Exact => String::new(),
        rule => format!(" with a difference ({})", rule.difference()),
    };
    ErrorCode::SeveralMatches.error(format_args!(
        "old_string is {least}{count} times in `{path}`{difference}, at lines {}{more}; nothing was changed: quote more lines around \
         the change, or set `replace_all` to replace all exact occurrences",
        named.join(", "),
    ))
}

fn inexact_error(path: &str, line: usize, rule: &Rule, reason: Refused) -> ToolError {
    let difference = rule.difference();
    let place =
        format!("`{path}` was not changed: old_string is in the file at line {line}, but for {difference}");
    let (code, advice) = match reason {
        Refused::NotRead => (
            ErrorCode::NotRead,
            "; read the file, or quote the file exactly".to_owned(),
        ),
        Refused::Changed => (ErrorCode::Changed, "; read the file again".to_owned()),
        Refused::Off => (ErrorCode::NoMatch, "; quote the file exactly".to_owned()),
        Refused::Short => (
            ErrorCode::NoMatch,
            ", and the quote is too short to be certain; quote the file exactly, or quote more lines"
                .to_owned(),
        ),
        Refused::ReplaceAll => (
            ErrorCode::NoMatch,
            "; `replace_all` needs an exact quote".to_owned(),
        ),
        Refused::NumbersInOld => (
            ErrorCode::NoMatch,
            ", and new_string has no line numbers on some lines, or other ones; leave the numbers out of both"
                .to_owned(),
        ),
        Refused::NumberedEnd => (
            ErrorCode::NoMatch,
            ", and old_string and new_string do not end alike, so the last line is uncertain; leave the numbers out of both"
                .to_owned(),
        ),
        Refused::Doubt(doubt) => (
            ErrorCode::NoMatch,
            format!(", and {}; quote the file exactly", doubt.reason()),
        ),
    };
    code.error(format_args!("{place}{advice}"))
}
