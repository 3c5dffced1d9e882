//! Command `check --jsonl`, which checks recorded calls against their schemas.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use tool_runtime::{Issue, Policy, ToolCall};

use crate::check::issue_counts::IssueCounts;
use crate::check::progress::Progress;
use crate::check::schemas::{NAME, Schemas};
use crate::jsonl::{self, Answers, Line, LineError, present};
use crate::options::{CheckOptions, Deny};
use crate::outcome::{Failure, Outcome};
use crate::source::Source;
use crate::terminal::{Terminal, visible};

pub(crate) fn run(options: &CheckOptions, terminal: Terminal) -> Result<Outcome, Failure> {
    let source = Source::open(options.file.as_deref(), terminal)?;
    let mut check = Check {
        name: source.name.clone(),
        policy: options.policy.into(),
        terminal,
        progress: Progress::new(terminal, source.length),
        schemas: Schemas::default(),
        counts: IssueCounts::default(),
    };
    let invalid = jsonl::answer_each(source, |line, answers| check.answer(line, answers));
    check.progress.clear();
    let (invalid, counts) = (invalid?, check.counts);
    terminal.print(&counts.summary(invalid, terminal.palette));
    let denied = match options.deny {
        None => false,
        Some(Deny::Errors) => counts.has_errors(),
        Some(Deny::Warnings) => counts.has_errors() || counts.has_warnings(),
    };
    Ok(Outcome::success_if(invalid == 0 && !denied))
}

/// State of the command between lines.
struct Check {
    /// Name of the input.
    name: String,
    policy: Policy,
    terminal: Terminal,
    progress: Progress,
    schemas: Schemas,
    counts: IssueCounts,
}

impl Check {
    fn answer(&mut self, line: Line<'_>, answers: &mut Answers) -> Result<(), LineError> {
        self.progress.step(line.number, line.end);
        let sent: CheckedLine<'_> = jsonl::record(line.text, EXPECTED)?;
        let id = sent.id.unwrap_or(RawValue::NULL);
        let Some(schema) = sent.schema else {
            return Err(LineError::new(
                id,
                format!("missing `schema`; expected {EXPECTED}"),
            ));
        };
        let input = input(id, &sent)?;
        let (compiled, warnings) = self.schemas.compiled(schema.get());
        self.warn(line.number, &warnings);
        let registry = compiled
            .as_ref()
            .as_ref()
            .map_err(|error| LineError::new(id, error))?;
        let request = registry.prepare(ToolCall::new("", NAME, input).with_policy(self.policy));
        self.counts.add(&request);
        let arguments = RawValue::from_string(request.arguments_json)
            .map_err(|error| LineError::new(id, format!("the arguments cannot be written: {error}")))?;
        Ok(answers.write(&CheckReport {
            id,
            arguments: &arguments,
            warnings: &request.warnings,
            errors: &request.errors,
        })?)
    }

    /// Prints the warnings of a schema.
    fn warn(&mut self, line: usize, warnings: &[String]) {
        for warning in warnings {
            self.progress.clear();
            self.terminal.print(&format!(
                "{}:{line}: {} in the schema: {}\n",
                self.name,
                self.terminal.palette.warning("warning"),
                visible(warning),
            ));
        }
    }
}

/// Returns the arguments as text: the text of a model, or the JSON text in the line, with its numbers and keys.
fn input(id: &RawValue, sent: &CheckedLine<'_>) -> Result<String, LineError> {
    match (sent.arguments, sent.raw) {
        (Some(arguments), None) => Ok(arguments.get().to_owned()),
        (None, Some(raw)) => jsonl::string(id, "raw", raw),
        (None, None) => {
            let error = "missing `arguments` or `raw`; expected the arguments as JSON in `arguments`, or the text of a model \
                         in `raw`";
            Err(LineError::new(id, error))
        }
        (Some(_), Some(_)) => {
            let error = "found both `arguments` and `raw`; expected `raw` if the text of the model is known, otherwise \
                         `arguments`";
            Err(LineError::new(id, error))
        }
    }
}

#[derive(Deserialize)]
struct CheckedLine<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    schema: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    arguments: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    raw: Option<&'a RawValue>,
}

#[derive(Serialize)]
struct CheckReport<'a> {
    id: &'a RawValue,
    arguments: &'a RawValue,
    warnings: &'a [Issue],
    errors: &'a [Issue],
}

const EXPECTED: &str = r#"{"id": …, "schema": {…}, "arguments": {…}}, or "raw": "…" in place of `arguments`"#;
