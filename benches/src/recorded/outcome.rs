//! [`Outcome`] of a call, and [`Tally`]: numbers of outcomes for each model.

use std::ops::AddAssign;

use serde_json::{Map, Value};
use tool_runtime::{Policy, ToolCall};

use super::answers::Call;
use super::checker::is_right;
use super::questions::{Question, Tool};

pub const LEGEND: &str = "\
- right: the leaderboard's checker finds the call among its possible answers
- silent: passed unchanged, without a warning
- restored: wrong as sent, right as the function gets it
- changed: passed with a warning, right or wrong as before
- refused: the function does not run, and the model reads why
- lost: right as sent, refused or wrong as the function gets it; in brackets calls that do not conform to their schema, because the
  possible answer does not";

pub const HEAD: &str = "| model | calls | right as sent | silent | restored | changed | refused | lost |\n|---|---|---|---|---|---|---|---|";

/// The outcome of a call.
pub struct Outcome {
    was_right: bool,
    is_right: bool,
    /// Whether the arguments are valid without coercion.
    conforms: bool,
    is_refused: bool,
    is_silent: bool,
    issues: Vec<String>,
    arguments: String,
}

impl Outcome {
    pub fn of(question: &Question, tool: &Tool, call: &Call) -> Self {
        let prepare = |policy| {
            let call = ToolCall::new("call", &*tool.name, call.arguments.as_str()).with_policy(policy);
            question.registry.prepare(call)
        };
        let request = prepare(Policy::Lenient);
        let is_refused = !request.errors.is_empty();
        let sent: Option<Map<String, Value>> = serde_json::from_str(&call.arguments).ok();
        let judge = |arguments: &Map<String, Value>| {
            question
                .answers(tool)
                .any(|possible| is_right(&tool.parameters, arguments, possible))
        };
        let issues = request.errors.iter().chain(&request.warnings);
        Self {
            was_right: sent.as_ref().is_some_and(judge),
            is_right: !is_refused && judge(&request.arguments),
            conforms: prepare(Policy::Strict).errors.is_empty(),
            is_refused,
            is_silent: !is_refused
                && request.warnings.is_empty()
                && sent.as_ref() == Some(&request.arguments),
            issues: issues.map(ToString::to_string).collect(),
            arguments: request.arguments_json,
        }
    }

    fn is_lost(&self) -> bool {
        self.was_right && !self.is_right
    }

    /// Returns whether the possible answer contradicts the schema: a call that does not match its schema was correct, and became wrong.
    pub fn contradicts_schema(&self) -> bool {
        self.is_lost() && !self.conforms
    }

    /// Returns a line about the call if it was correct and became wrong, or if it was correct, matches its schema and has warnings.
    pub fn report(&self, id: &str, tool: &Tool, call: &Call) -> Option<String> {
        let is_loud = self.was_right && self.conforms && !self.is_silent;
        (self.is_lost() || is_loud).then(|| {
            let kind = match (self.is_lost(), self.conforms) {
                (true, true) => "LOST",
                (true, false) => "lost, does not conform",
                (false, _) => "right and not silent",
            };
            let result = if self.is_refused {
                "refused"
            } else {
                &self.arguments
            };
            let (name, sent, issues) = (&tool.name, &call.arguments, self.issues.join("; "));
            format!("{kind}: {id} `{name}` `{sent}` → `{result}`: {issues}")
        })
    }
}

/// Numbers of outcomes of a model.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    calls: usize,
    right: usize,
    /// Number of calls that are correct as sent, and valid by the schema without coercion.
    right_and_conforming: usize,
    right_and_silent: usize,
    silent: usize,
    restored: usize,
    changed: usize,
    refused: usize,
    lost: usize,
    lost_without_conforming: usize,
    /// Number of refused texts that are not JSON.
    unread: usize,
    /// Number of calls in Python dictionaries, and of calls with the value that Python reads.
    dictionaries: usize,
    dictionaries_read: usize,
}

impl Tally {
    pub fn count(&mut self, outcome: &Outcome) {
        self.calls += 1;
        self.right += usize::from(outcome.was_right);
        self.right_and_conforming += usize::from(outcome.was_right && outcome.conforms);
        self.right_and_silent += usize::from(outcome.was_right && outcome.conforms && outcome.is_silent);
        if outcome.is_lost() && outcome.conforms {
            self.lost += 1;
        } else if outcome.is_lost() {
            self.lost_without_conforming += 1;
        }
        *if outcome.is_refused {
            &mut self.refused
        } else if outcome.is_silent {
            &mut self.silent
        } else if outcome.is_right && !outcome.was_right {
            &mut self.restored
        } else {
            &mut self.changed
        } += 1;
    }

    /// Counts the calls of a text that Python reads as a literal.
    pub fn count_dictionary(&mut self, calls: usize, is_same: bool) {
        self.dictionaries += calls;
        self.dictionaries_read += if is_same { calls } else { 0 };
    }

    /// Counts a refused text that is not JSON.
    pub fn count_unread(&mut self) {
        self.unread += 1;
    }

    pub fn row(&self, name: &str) -> String {
        let lost = match self.lost_without_conforming {
            0 => self.lost.to_string(),
            more => format!("{} ({more})", self.lost),
        };
        format!(
            "| {name} | {} | {} | {} | {} | {} | {} | {lost} |",
            self.calls, self.right, self.silent, self.restored, self.changed, self.refused,
        )
    }

    /// Outcomes without a column: correct calls that match their schema, and texts that are not JSON.
    pub fn sentences(&self, has_python: bool) -> String {
        let mut sentences = format!(
            "Of {} calls that are right as sent and conform to their schemas, {} pass silently.",
            self.right_and_conforming, self.right_and_silent,
        );
        if has_python && self.dictionaries > 0 {
            sentences += &format!(
                " Of {} calls in Python dictionaries, {} are read as Python reads them.",
                self.dictionaries, self.dictionaries_read,
            );
        }
        if self.unread > 0 {
            sentences += &format!(" {} texts that begin a call cannot be read.", self.unread);
        }
        sentences
    }
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.right += other.right;
        self.right_and_conforming += other.right_and_conforming;
        self.right_and_silent += other.right_and_silent;
        self.silent += other.silent;
        self.restored += other.restored;
        self.changed += other.changed;
        self.refused += other.refused;
        self.lost += other.lost;
        self.lost_without_conforming += other.lost_without_conforming;
        self.unread += other.unread;
        self.dictionaries += other.dictionaries;
        self.dictionaries_read += other.dictionaries_read;
    }
}
