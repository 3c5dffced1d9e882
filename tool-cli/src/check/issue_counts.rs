//! [`IssueCounts`]: numbers of calls by outcome and of issues by code, for a summary.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use tool_runtime::ToolCallRequest;
use tool_runtime::issue::{Code, Issue};

use crate::terminal::{Palette, counted};

/// Numbers of calls by outcome, and of issues by code.
#[derive(Debug, Default)]
pub(crate) struct IssueCounts {
    clean: usize,
    with_warnings: usize,
    refused: usize,
    warnings: BTreeMap<Code, usize>,
    errors: BTreeMap<Code, usize>,
}

impl IssueCounts {
    pub(crate) fn add(&mut self, request: &ToolCallRequest) {
        *match (request.errors.is_empty(), request.warnings.is_empty()) {
            (false, _) => &mut self.refused,
            (true, false) => &mut self.with_warnings,
            (true, true) => &mut self.clean,
        } += 1;
        count(&request.warnings, &mut self.warnings);
        count(&request.errors, &mut self.errors);
    }

    pub(crate) fn has_errors(&self) -> bool {
        !self.errors.is_empty()
    }

    pub(crate) fn has_warnings(&self) -> bool {
        !self.warnings.is_empty()
    }

    /// Returns the summary. `invalid` is the number of lines that were not calls.
    pub(crate) fn summary(&self, invalid: usize, palette: Palette) -> String {
        let calls = self.clean + self.with_warnings + self.refused;
        let mut output = format!(
            "{}: {} clean, {} with warnings, {} refused\n",
            counted(calls, "call", "calls"),
            self.clean,
            self.with_warnings,
            self.refused,
        );
        if invalid > 0 {
            let invalid = counted(invalid, "line", "lines");
            let _ = writeln!(
                output,
                "{}",
                palette.error(&format!("{invalid} could not be read"))
            );
        }
        list(&palette.error("errors"), &self.errors, &mut output);
        list(&palette.warning("warnings"), &self.warnings, &mut output);
        output
    }
}

fn count(issues: &[Issue], counts: &mut BTreeMap<Code, usize>) {
    for issue in issues {
        *counts.entry(issue.code).or_default() += 1;
    }
}

/// Lists the codes, the most frequent first.
fn list(heading: &str, counts: &BTreeMap<Code, usize>, output: &mut String) {
    let mut counts: Vec<(Code, usize)> = counts.iter().map(|(code, count)| (*code, *count)).collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let Some((_, highest)) = counts.first() else {
        return;
    };
    let width = highest.to_string().len();
    let _ = writeln!(output, "{heading}");
    for (code, count) in &counts {
        let _ = writeln!(output, "  {count:>width$} {code}");
    }
}
